import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.x.discovery.ServiceCache;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceInstanceBuilder;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.curator.x.discovery.ServiceType;
import org.apache.curator.x.discovery.UriSpec;
import org.apache.curator.x.discovery.details.JsonInstanceSerializer;

/** Service discovery. */
final class Registry {
    /** A payload that is an object: "@class" in its JSON says "Registry$Payload". */
    public static final class Payload {
        @JsonProperty("zone") public String zone;
        @JsonProperty("weight") public int weight;
    }

    private final Clients clients;
    private final Map<String, ServiceDiscovery<Object>> discoveries = new ConcurrentHashMap<>();
    private final Map<String, ServiceInstance<Object>> registered = new ConcurrentHashMap<>();
    private final Map<String, ServiceCache<Object>> caches = new ConcurrentHashMap<>();
    private final Map<String, ServiceProvider<Object>> providers = new ConcurrentHashMap<>();

    Registry(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("registry.register", this::register);
        commands.put("registry.update", this::update);
        commands.put("registry.unregister", this::unregister);
        commands.put("registry.query", with -> all(discovery(with).queryForInstances(with.get("name").asText())));
        commands.put("registry.names", with -> new TreeSet<>(discovery(with).queryForNames()));
        commands.put("registry.cache", this::cache);
        commands.put("registry.cached", with -> all(caches.get(with.get("as").asText()).getInstances()));
        commands.put("registry.provider", this::provider);
        commands.put("registry.pick", with -> one(providers.get(with.get("as").asText()).getInstance()));
    }

    /** One for each base; by default it leaves "enabled" out of what it writes, for old readers. */
    private ServiceDiscovery<Object> discovery(JsonNode with) throws Exception {
        boolean compatible = with.path("compatible").asBoolean(true);
        return discoveries.computeIfAbsent(with.get("base").asText() + " " + compatible, key -> {
            ServiceDiscoveryBuilder<Object> builder = ServiceDiscoveryBuilder.builder(Object.class)
                .client(clients.of(with)).basePath(with.get("base").asText());
            if (!compatible) {
                builder.serializer(new JsonInstanceSerializer<>(Object.class, false));
            }
            ServiceDiscovery<Object> discovery = builder.build();
            try {
                discovery.start();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return discovery;
        });
    }

    private static ServiceInstance<Object> instance(JsonNode with) throws Exception {
        ServiceInstanceBuilder<Object> builder = ServiceInstance.<Object>builder()
            .name(with.get("name").asText())
            .id(with.get("instance").asText())
            .serviceType(ServiceType.valueOf(with.path("type").asText("DYNAMIC")))
            .enabled(with.path("enabled").asBoolean(true))
            .payload(payload(with.path("payload")));
        if (with.has("address")) {
            builder.address(with.get("address").asText());
        }
        if (with.has("port")) {
            builder.port(with.get("port").asInt());
        }
        if (with.has("sslPort")) {
            builder.sslPort(with.get("sslPort").asInt());
        }
        if (with.has("uri")) {
            builder.uriSpec(new UriSpec(with.get("uri").asText()));
        }
        return builder.build();
    }

    private static Object payload(JsonNode json) {
        if (json.isObject()) {
            Payload payload = new Payload();
            payload.zone = json.get("zone").asText();
            payload.weight = json.get("weight").asInt();
            return payload;
        }
        return json.isTextual() ? json.asText() : json.isNumber() ? json.asInt() : json.isBoolean() ? json.asBoolean() : null;
    }

    private Object register(JsonNode with) throws Exception {
        ServiceInstance<Object> instance = instance(with);
        discovery(with).registerService(instance);
        registered.put(with.get("as").asText(), instance);
        return instance.getRegistrationTimeUTC();
    }

    private Object update(JsonNode with) throws Exception {
        ServiceInstance<Object> instance = instance(with);
        discovery(with).updateService(instance);
        registered.put(with.get("as").asText(), instance);
        return instance.getRegistrationTimeUTC();
    }

    private Object unregister(JsonNode with) throws Exception {
        discovery(with).unregisterService(registered.remove(with.get("as").asText()));
        return null;
    }

    private Object cache(JsonNode with) throws Exception {
        ServiceCache<Object> cache = discovery(with).serviceCacheBuilder().name(with.get("name").asText()).build();
        cache.start();
        caches.put(with.get("as").asText(), cache);
        return null;
    }

    private Object provider(JsonNode with) throws Exception {
        ServiceProvider<Object> provider = discovery(with).serviceProviderBuilder().serviceName(with.get("name").asText()).build();
        provider.start();
        providers.put(with.get("as").asText(), provider);
        return null;
    }

    private static List<Object> all(Collection<ServiceInstance<Object>> instances) {
        List<Object> all = new ArrayList<>();
        instances.stream().sorted((a, b) -> a.getId().compareTo(b.getId())).forEach(i -> all.add(one(i)));
        return all;
    }

    private static Object one(ServiceInstance<Object> instance) {
        if (instance == null) {
            return null;
        }
        Map<String, Object> fields = new TreeMap<>();
        fields.put("name", instance.getName());
        fields.put("id", instance.getId());
        fields.put("address", instance.getAddress());
        fields.put("port", instance.getPort());
        fields.put("sslPort", instance.getSslPort());
        fields.put("payload", instance.getPayload());
        fields.put("class", instance.getPayload() == null ? null : instance.getPayload().getClass().getName());
        fields.put("registered", instance.getRegistrationTimeUTC());
        fields.put("type", instance.getServiceType().name());
        fields.put("uri", instance.getUriSpec() == null ? null : instance.buildUriSpec());
        fields.put("enabled", instance.isEnabled());
        return fields;
    }
}
