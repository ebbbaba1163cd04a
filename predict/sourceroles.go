package predict

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
)

// Roles says what the calls and events of a process's first location are to the program: the rule by which Open made it.
func (in *Input) Roles(process uint32, l *ccg.Location) (map[uint32]ccg.Role, error) {
	list, err := in.roles(process, l)
	if err != nil {
		return nil, err
	}
	s := l.Structure()
	roles := map[uint32]ccg.Role{}
	for n, r := range list {
		if r != ccg.Within {
			roles[s.ID(uint32(n))] = r
		}
	}
	return roles, nil
}

// roles lists them by the location's own numbers.
func (in *Input) roles(process uint32, l *ccg.Location) ([]ccg.Role, error) {
	t := newTracer(&builder{tables: in.tables}, l, process)
	if err := t.survey(); err != nil {
		return nil, fmt.Errorf("process %d: %w", process, err)
	}
	t.count()
	return t.roles(), nil
}
