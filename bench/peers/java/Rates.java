import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Operations per second of workers that work beside each other. */
final class Rates {
    /** One operation; n is the worker's number plus how many it has done. */
    interface Work {
        void run(int n) throws Exception;
    }

    private static final class Worker extends Thread {
        private final int number;
        private final Work work;
        private final Rates rates;
        final AtomicLong done = new AtomicLong();

        Worker(int number, Work work, Rates rates) {
            this.number = number;
            this.work = work;
            this.rates = rates;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                for (int n = number; !rates.stop; n++) {
                    work.run(n);
                    done.lazySet(done.get() + 1);
                }
            } catch (Throwable e) {
                rates.failure.compareAndSet(null, e);
            }
        }
    }

    private volatile boolean stop;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final List<Worker> workers = new ArrayList<>();

    static double measure(JsonNode task, List<Work> works) throws Exception {
        Rates rates = new Rates();
        for (Work work : works) {
            rates.workers.add(new Worker(rates.workers.size(), work, rates));
        }
        rates.workers.forEach(Thread::start);
        double rate = rates.observe(task.get("warm_ms").asLong(), task.get("time_ms").asLong());
        rates.stop = true;
        for (Worker worker : rates.workers) {
            worker.join();
        }
        rates.check();
        return rate;
    }

    private double observe(long warm, long time) throws Exception {
        pause(warm);
        long before = done();
        long began = System.nanoTime();
        pause(time);
        return (done() - before) * 1e9 / (System.nanoTime() - began);
    }

    private long done() {
        return workers.stream().mapToLong(worker -> worker.done.get()).sum();
    }

    private void pause(long ms) throws Exception {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        for (long left; (left = until - System.nanoTime()) > 0; ) {
            LockSupport.parkNanos(Math.min(left, 100_000_000));
            check();
        }
    }

    private void check() throws Exception {
        if (failure.get() != null) {
            stop = true;
            throw new Exception(failure.get());
        }
    }
}
