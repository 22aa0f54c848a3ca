package recognize

import "github.com/zkrecipes/zkrecipes/internal/format/taskformat"

// readKeys counts the keys of unique tasks. A key that cannot be read keeps its task from
// being submitted.
func (st *TaskState) readKeys(t *Thing, keys *spot) {
	if keys == nil {
		return
	}
	for bucket := range keys.children.all() {
		for c := range bucket.children.all() {
			_, err := decodeNode(c.Node, taskformat.Decode[taskformat.Key])
			if st.Keys++; err != nil && !c.Denied {
				t.addProblem(Warn, codeUnreadable, c.Path, "the record of a unique task's key %s: no task is submitted under it", c.unreadReason(err))
			}
		}
	}
}
