package exit

// Exit codes of zkr itself. Codes from 64 on are sysexits' numbers, which few
// commands use; a command under zkr may use them all the same.
const (
	CodeFailed       = 1   // anything else; demo: an invariant did not hold
	CodeUsage        = 64  // wrong arguments
	CodeTaskFailed   = 65  // the awaited task has failed
	CodeTaskDead     = 66  // its last attempt has failed
	CodeTaskCanceled = 67  // the task was canceled
	CodeUnavailable  = 69  // no server could be reached
	CodeUnknown      = 74  // a change was made or not, or the outcome of a job is unknown
	CodeBusy         = 75  // not in time, busy with --try, or another client was first
	CodeLost         = 76  // lost while the command ran; the command was killed
	CodeDenied       = 77  // the servers refuse the credentials, or the znode's ACL does
	CodeCannotRun    = 126 // the command exists and cannot be run
	CodeNotFound     = 127 // there is no such command
	CodeSignal       = 128 // plus the number of the signal that ended the command, or the wait
)
