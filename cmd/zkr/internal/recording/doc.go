// Package recording writes and reads recordings: the znodes of an ensemble as a client saw
// them, and their changes, in a folder of compressed files of bounded size.
//
// # What it is
//
// A [Writer] writes a recording, and a [Folder] reads one: [Folder.Read] returns the changes
// as transactions of package txnlog, so that package history reads recordings and the logs of
// servers alike.
//
// # Format
//
// The files are named recording-00000001.jsonl.gz, recording-00000002.jsonl.gz, and so on.
// Each is one gzip stream of lines, and each line is a JSON object, a [Record]. The last field
// of a line, crc, is the CRC-32 (Castagnoli) of the line up to the comma before crc, in eight
// hexadecimal digits. The writer flushes the stream to the disk each time that it has written
// something, so that a file without an end can be read up to its last flush. A version of the
// format stands in the first record; this is version 1.
//
// A file begins with the state of one moment, so that it can be read without the files before:
//
//	begin      the version, and the root of the recorded tree
//	gap        if the files before do not reach up to this one
//	node       a znode; any number
//	ready      the end of the state, with its moment
//
// Then come, in the order in which the recorder has seen them:
//
//	set        a znode was created, or its data changed: the state afterwards
//	gone       a znode was deleted; a set or gone that is ordered, with a moment after, was
//	           seen late, as by a recorder that was paused
//	gap        nothing was recorded from the moment after to the moment at; the differences
//	           follow as set and gone with the same after
//	alive      everything up to this moment has been recorded
//	clock      the machine's clock was set back; the moments of the records do not go back
//	end        the last record of a file that was closed
//
// # Guarantees
//
//   - A record is returned only if its checksum is right, and the records of a file are
//     returned from the first one on, without omission, until the end of the file or its
//     first damage.
//   - Damage, gaps and missing files are findings. The state at the beginning of each file
//     is compared with the state so far, so that a later state is right after each gap.
//   - The files together are at most as long as Options.MaxTotal; the oldest are removed.
//   - Two writers never write to one folder: the file lock is locked by the system.
//   - A file that another process deletes or shortens while it is being written, and a disk
//     that is full, make a gap: Writer.Resume begins the next file.
//
// # Secrets
//
// Recordings contain the data of znodes. The files are created with mode 0600, in a folder of
// mode 0700 if the writer creates the folder.
package recording
