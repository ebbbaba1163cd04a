package predict

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/trace"
)

// Property is a name and a value in the definitions of a prediction. Neither may be a path: they decide bytes.
type Property struct{ Name, Value string }

// predictedDefinitions are those of the recorded run with the clock of the simulation, and the properties at the root of the
// system tree or, where there is none, at the first location group.
func predictedDefinitions(recorded *trace.Definitions, makespan int64, list []Property) (*trace.Definitions, error) {
	b, err := recorded.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	d := &trace.Definitions{}
	if err := d.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	d.Clocks = []trace.ClockProperties{{TimerResolution: picosecondClock, TraceLength: uint64(makespan), RealtimeTimestamp: trace.Undefined64}}
	next := uint64(0)
	for i := range d.Strings {
		next = max(next, uint64(d.Strings[i].Ref)+1)
	}
	if next+2*uint64(len(list)) > math.MaxUint32 {
		return nil, fmt.Errorf("the recorded run has string %d, none is left for the properties of the prediction", next-1)
	}
	text := func(s string) uint32 {
		d.Strings = append(d.Strings, trace.String{Ref: uint32(next), Value: s})
		next++
		return uint32(next - 1)
	}
	for _, p := range list {
		name, value := text(p.Name), text(p.Value)
		switch v := (trace.Value{Type: trace.TypeString, Bits: uint64(value)}); {
		case len(d.SystemTreeNodes) > 0:
			d.SystemTreeNodeProperties = append(d.SystemTreeNodeProperties, trace.SystemTreeNodeProperty{
				Node: d.SystemTreeNodes[0].Ref, Name: name, StringValue: value, Value: v,
			})
		case len(d.LocationGroups) > 0:
			d.LocationGroupProperties = append(d.LocationGroupProperties, trace.LocationGroupProperty{
				LocationGroup: d.LocationGroups[0].Ref, Name: name, StringValue: value, Value: v,
			})
		}
	}
	d.Seal()
	return d, nil
}
