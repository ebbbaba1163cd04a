package results

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// OtherAsides returns the times in which a process does not compute, except some.
func OtherAsides(but ...xtf.Item) []xtf.Item {
	return slices.DeleteFunc(slices.Clone(xtf.AsideItems), func(i xtf.Item) bool { return slices.Contains(but, i) })
}

// itemWords are the words of components that are not a state, or are several states.
var itemWords = map[xtf.Item]string{
	xtf.ItemCPU: "CPU", xtf.ItemMPI: "MPI", xtf.ItemMarker: "marker", xtf.ItemComm: "communication", xtf.ItemStart: "starting only",
	xtf.ItemPotentialSync: "potential sync", xtf.ItemSendRecv: "message spans", xtf.ItemCalls: "calls that begin", xtf.ItemSends: "messages sent",
	xtf.ItemBytesOut: "bytes sent", xtf.ItemBytesIn: "bytes received", xtf.ItemCollectives: "collective calls",
	xtf.ItemCollOut: "bytes sent in collectives", xtf.ItemCollIn: "bytes received in collectives",
}

// ItemWord returns the words of a component: those of its state, or of the first of several states.
func ItemWord(i xtf.Item) string {
	if w, ok := itemWords[i]; ok {
		return w
	}
	if states := xtf.StatesOf(i); len(states) > 0 {
		return trace.States[states[0]].Text
	}
	return strings.ReplaceAll(PatternLabel(i.String()), "_", " ")
}

// ClassWords returns the words of n classes of states, at least those of tiles; "" for a class without states.
func ClassWords(r *Run, n int, class func(s trace.State) int) []string {
	seen := [trace.NumStates]bool{trace.StateOwn: true}
	for i := range r.Defs.Regions {
		seen[r.Defs.StateOf(&r.Defs.Regions[i])] = true
	}
	words, found := make([]string, n), make([]bool, n)
	for s := range trace.NumStates {
		k, word := class(s), trace.States[s].Text
		switch {
		case seen[s] && found[k]:
			words[k] += ", " + word
		case seen[s] || words[k] == "" && k < xtf.NumShares:
			words[k], found[k] = word, seen[s]
		}
	}
	words[xtf.ShareStart] = ItemWord(xtf.ItemP2P) + ", " + ItemWord(xtf.ItemStart)
	return words
}

// StateLabel prints the state of a name, "" for own code.
func StateLabel(name string) string {
	for _, x := range trace.States {
		switch {
		case x.Name != name:
		case x.Group == "MPI" && !strings.Contains(x.Text, "MPI"):
			return "MPI " + x.Text
		default:
			return x.Text
		}
	}
	return ""
}
