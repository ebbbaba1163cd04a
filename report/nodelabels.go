package report

import "errors"

// NodeLabels names the nodes of the interval tree for people, by their number: the name of a node, or where it begins in the
// source and its id. It is empty for a file without intervals.
func (r *Run) NodeLabels() ([]string, error) {
	list, err := r.nodes()
	if errors.Is(err, ErrNoResult) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	labels := make([]string, len(list))
	for i := range list {
		labels[i] = list[i].label()
	}
	return labels, nil
}
