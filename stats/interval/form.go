package interval

import "strings"

var formNames = [NumForms]string{"root", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10"}

// String returns the form's name, as in --markers and in reports.
func (f Form) String() string {
	if f < NumForms {
		return formNames[f]
	}
	return "unknown"
}

// FormSet is a set of forms.
type FormSet uint32

// AutoForms are the forms that are looked for without being asked for. Of regions
// these are the ones the program declares as phases or dynamic regions.
const AutoForms = FormSet(1<<FormRaw | 1<<FormPortable | 1<<FormCommunicator | 1<<FormLevel | 1<<FormName | 1<<FormRegion | 1<<FormParameter)

// Has reports whether f is in the set.
func (s FormSet) Has(f Form) bool { return s>>f&1 != 0 }

// String returns what --markers accepts.
func (s FormSet) String() string {
	switch s {
	case AutoForms:
		return "auto"
	case 0:
		return "none"
	}
	var names []string
	for f := range NumForms {
		if s.Has(f) {
			names = append(names, formNames[f])
		}
	}
	return strings.Join(names, ",")
}
