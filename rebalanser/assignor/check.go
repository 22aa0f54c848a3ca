package assignor

import (
	"errors"
	"fmt"
)

// Check reports whether an [Assignor] may return this assignment for these
// members and resources. An assignment has one sorted list for each member. The
// list names only existing resources that the member takes, no resource is named
// twice, and no resource that a member takes is left out. The error wraps
// [ErrInvalid] and names the first few problems.
//
// Check does not test for balance. It is for other assignors: the results of this
// package's assignors pass.
func Check(members []Member, resources []Resource, assignment [][]string) error {
	if len(assignment) != len(members) {
		return fmt.Errorf("assignor: %w: %d lists for %d members", ErrInvalid, len(assignment), len(members))
	}
	var found faults
	var p *problem
	if len(members) > 0 && len(resources) > 0 {
		p = newProblem(members, resources, false, nil)
	} else {
		p = &problem{members: members, order: byKey(members), classes: newClasses(nil, 0, 0, nil)}
	}
	x := indexOf(p.names)
	owner := make([]int32, len(p.names)) // 1 + the place in order, or 0
	for i, at := range p.order {
		key, list := members[at].Key, assignment[at]
		for n, name := range list {
			if n > 0 && list[n-1] > name {
				found.add("the list of %q is not sorted: %q comes before %q", key, list[n-1], name)
			}
			j := x.find(name)
			switch {
			case j < 0:
				found.add("%q, assigned to %q, is not a resource", name, key)
				continue
			case owner[j] > 0:
				found.add("%q is assigned to %q and to %q", name, members[p.order[owner[j]-1]].Key, key)
			case !p.takes(p.of[j], int32(i)):
				found.add("%q is assigned to %q, which does not take it", name, key)
			}
			owner[j] = int32(i + 1)
		}
	}
	for j, name := range p.names {
		if owner[j] == 0 && p.size[p.of[j]] > 0 {
			found.add("%q is assigned to no member", name)
		}
	}
	return found.err()
}

// faults collects what is wrong, the first few in words.
type faults struct {
	told  []error
	count int
}

func (f *faults) add(format string, args ...any) {
	const enough = 5
	if f.count++; f.count <= enough {
		f.told = append(f.told, fmt.Errorf(format, args...))
	}
}

func (f *faults) err() error {
	if f.count == 0 {
		return nil
	}
	if more := f.count - len(f.told); more > 0 {
		f.told = append(f.told, fmt.Errorf("and %d more", more))
	}
	return fmt.Errorf("assignor: %w: %w", ErrInvalid, errors.Join(f.told...))
}
