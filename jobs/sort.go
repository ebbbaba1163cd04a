package jobs

import "github.com/coppice-hpc/coppice/xtfwriter"

// adder and sorter give xtfwriter's sorter the form that package stats asks for.
type adder struct{ s *xtfwriter.Sorter }

func (a adder) Add(row []byte) error {
	a.s.Add(row)
	return nil
}

type sorter struct{ adder }

func (s sorter) Each(f func(row []byte) error) error {
	rows, err := s.s.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Row()); err != nil {
			return err
		}
	}
	return rows.Err()
}
