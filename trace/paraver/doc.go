// Package paraver reads Paraver traces, the trace format of Extrae. A [Trace] is
// a [trace.Source].
//
// # Files
//
//	NAME.prv, NAME.prv.gz   header, communicators, and one record a line
//	NAME.pcf                names of event types and their values; may be missing
//	NAME.row                names of nodes, tasks, threads; may be missing
//
//	#Paraver (date):length_ns:nodes(processors,...):applications:tasks(threads:node,...),communicators
//	c:application:id:tasks:task:...                           communicator
//	1:processor:application:task:thread:begin:end:state       state
//	2:processor:application:task:thread:time:type:value:...   event
//	3:sender:logical send:physical send:receiver:logical receive:physical receive:size:tag
//
// Sender and receiver are processor, application, task and thread. Times are ns
// or, in headers without a unit, us. Records are in one order of time for all
// threads, messages at the time of the send.
//
// # Mapping
//
// A task is a process, in the order of the header its rank too; a thread is a
// location. Types of events are Extrae's (eventTypes):
//
//	MPI calls, user functions, OpenMP, pthread, CUDA   Enter, Leave
//	collective arguments                               MpiCollectiveBegin, -End
//	messages                                           MpiSend, MpiRecv, requests
//	hardware counters                                  Metric, counted since the record before
//	callers of MPI calls                               attributes of the Enter
//	everything else                                    ParameterUnsignedInt
//
// A region has the name of the value and the description "prv:TYPE LABEL"; a
// parameter has that as its name. So an event type can be asked for by its
// number in either form, as a marker of intervals for example. States repeat
// what events say: they are counted and not kept, except in traces without any
// call, where states become calls. docs/paraver.md has the rules.
//
// # Reading
//
// [Load] passes over the file once and makes what one process can hand to all
// others. [Trace.Gather] passes over it again and splits it by thread, so that
// each rank reads the file once whatever the number of its locations; a stream
// merges the runs of its thread. A compressed file can only be read from its start.
//
// # Damage
//
// A line that is not a record is left out and counted, with its number: unknown
// kinds as trace.DiagUnknownRecord, a last line without an end as
// trace.DiagTruncated (a number that was cut looks like a whole one), others as
// trace.DiagCorrupt. A file that has MPI_Init, no MPI_Finalize, and no event or state that
// lasts to the end that its head tells is cut between two lines, also trace.DiagTruncated. Calls that end without having begun are counted per
// location. Lengths and counts in the input never size memory before the bytes
// after them are there. Constants bound what a trace may have.
//
// # Memory
//
// A Trace has its definitions, names and index: 32 bytes a thread, some 200 a
// name, 16 for each change of the root of a communicator's collectives. Load
// adds 8 bytes a thread and 16 for each pair of thread and communicator; Gather
// 32 MiB while it runs and up to 10 MiB of records after it; a stream 40 bytes for
// each run, 8 KiB for those in progress, and what is open (see decoder).
//
//	t, err := paraver.OpenPath("epoch.prv.gz")
//	err = t.Gather(0, 4, os.TempDir())
//	st, err := t.Stream(0)
package paraver
