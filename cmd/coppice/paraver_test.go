package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// pingPong is a small Paraver trace: two processes, a message each way, a
// broadcast, a phase.
const pingPong = `#Paraver (01/02/2026 at 10:11):100_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
2:1:1:1:1:0:1000:1
2:2:1:2:1:5:50000001:2
2:1:1:1:1:10:50000001:1
3:1:1:1:1:10:20:2:1:2:1:5:25:64:7
2:1:1:1:1:20:50000001:0
2:2:1:2:1:25:50000001:0
2:1:1:1:1:30:50000001:2
2:2:1:2:1:32:50000001:1
3:2:1:2:1:32:36:1:1:1:1:30:40:64:8
2:2:1:2:1:36:50000001:0
2:1:1:1:1:40:50000001:0
2:2:1:2:1:50:50000002:7:50100001:0:50100002:4:50100004:1
2:1:1:1:1:52:50000002:7:50100001:4:50100002:0:50100004:1:50100003:1
2:1:1:1:1:60:50000002:0
2:2:1:2:1:61:50000002:0
2:1:1:1:1:99:1000:0
2:2:1:2:1:99:1000:0
`

type briefInfo struct {
	Processes, Locations int
	Events               uint64
	Diagnostics          []struct {
		Code     string
		Severity string
	}
}

// TestParaver runs the verbs on a Paraver trace: the result does not depend on
// the number of ranks, and exported to OTF2 it is the same program.
func TestParaver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trace, run, again := filepath.Join(dir, "a.prv"), filepath.Join(dir, "run.xtf"), filepath.Join(dir, "again.xtf")
	if err := os.WriteFile(trace, []byte(pingPong), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "info", trace); !strings.Contains(out, "Paraver") || !strings.Contains(out, "15 event records, 2 messages, 0 states") {
		t.Errorf("info: %s", out)
	}
	if out := must(t, "check", trace); !strings.Contains(out, "clean") {
		t.Errorf("check: %s", out)
	}
	roundTrip(t, trace, run, again, dir)
	for of, name := range map[string]string{"prv:1000": "Id=1 Name=prv:1000", "prv:50000001": "Name=MPI_Recv"} {
		must(t, "analyze", trace, "-o", run, "-f", "-q", "--interval", of)
		if out := must(t, "report", run, "intervals"); !strings.Contains(out, name) {
			t.Errorf("--interval %s: %s", of, out)
		}
	}
	bad := filepath.Join(dir, "bad.prv")
	if err := os.WriteFile(bad, []byte(pingPong+"2:1:1:9:1:99:1000:0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := call("analyze", bad, "-o", run, "-f", "-q", "-j", "1")
	if code != jobs.ExitPartial {
		t.Errorf("a damaged line: exit code %d, %s", code, errs)
	}
	if out := must(t, "report", run, "diagnostics"); !strings.Contains(out, "damaged event data left out: 1") {
		t.Errorf("a damaged line: %s", out)
	}
	code, out, _ := call("check", bad)
	if code == jobs.ExitDone || !strings.Contains(out, "line 20: a thread that the header does not have") {
		t.Errorf("check of a damaged line: exit code %d, %s", code, out)
	}
}

// roundTrip analyses a trace on one and on three ranks, exports the result, and
// analyses that: both runs have the same messages, times and collectives.
func roundTrip(t *testing.T, trace, run, again, dir string) {
	t.Helper()
	must(t, "analyze", trace, "-o", run, "-f", "-q", "-j", "1")
	must(t, "analyze", trace, "-o", again, "-f", "-q", "-j", "3")
	a, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(again)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("one and three ranks differ: %v", err)
	}
	x := jsonOf[briefInfo](t, "info", run)
	for _, d := range x.Diagnostics {
		if d.Severity == "damage" {
			t.Errorf("%s: %+v", trace, d)
		}
	}
	must(t, "check", run)
	archive := filepath.Join(dir, "archive")
	must(t, "export", run, "--to", "otf2", "-o", archive, "-f", "-q")
	must(t, "check", archive)
	must(t, "analyze", archive, "-o", again, "-f", "-q", "-j", "2")
	y := jsonOf[briefInfo](t, "info", again)
	if x.Events != y.Events || x.Locations != y.Locations || x.Processes != y.Processes || x.Events == 0 {
		t.Errorf("exported: %+v, was %+v", y, x)
	}
	if p, q := tail(must(t, "report", run, "profile", "comm")), tail(must(t, "report", again, "profile", "comm")); p != q {
		t.Errorf("exported, it is another program:\n%s\nwas:\n%s", q, p)
	}
}

// tail is a report without its first line, which names the file.
func tail(report string) string {
	_, rest, _ := strings.Cut(report, "\n")
	return rest
}

// TestSharedParaver analyses the collected Paraver traces.
func TestSharedParaver(t *testing.T) {
	t.Parallel()
	traces := filepath.Join(sharedTraces(t), "..", "paraver")
	for _, name := range []string{"epoch/epoch_1proc", "epoch/epoch_2proc", "epoch/epoch_4proc", "omp2"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "epoch/epoch_1proc" {
				t.Skip("large, without -short")
			}
			dir := t.TempDir()
			path := filepath.Join(traces, name+".prv.gz")
			if _, err := os.Stat(path); err != nil {
				t.Skip("no " + path)
			}
			roundTrip(t, path, filepath.Join(dir, "run.xtf"), filepath.Join(dir, "again.xtf"), dir)
			for _, x := range jsonOf[briefInfo](t, "info", filepath.Join(dir, "run.xtf")).Diagnostics {
				if !untold(x.Code) {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}

// stateSums is what a report says of a trace.
type stateSums struct {
	Summary struct {
		Ticks struct {
			Total, CPU, MPI, Idle, P2P uint64
			Collective                 uint64 `json:"collective_all"`
			Barrier                    uint64
		}
	}
}

// TestStatesAlone: a trace without events, as simulators write it, is what its states and messages say. Process 0 runs to 500, waits for
// a message to 700, and runs to 1000. Process 1 runs to 690, when it sends, and from 700 to 900: 190 are waited for a late sender, 100 are
// after the end of process 1.
func TestStatesAlone(t *testing.T) {
	t.Parallel()
	const alone = `#Paraver (01/02/2026 at 10:11):1000_ns:1(2):1:2(1:1,1:1)
1:1:1:1:1:0:500:1
1:1:1:1:1:500:700:3
1:1:1:1:1:700:1000:1
1:2:1:2:1:0:690:1
1:2:1:2:1:690:700:4
1:2:1:2:1:700:900:1
3:2:1:2:1:690:690:1:1:1:1:500:700:8:5
`
	dir := t.TempDir()
	file, run := filepath.Join(dir, "a.prv"), filepath.Join(dir, "run.xtf")
	if err := os.WriteFile(file, []byte(alone), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "analyze", file, "-o", run, "-q")
	if x := jsonOf[stateSums](t, "report", run).Summary.Ticks; x.Total != 2000 || x.CPU != 800+890 || x.MPI != 210 || x.Idle != 100 {
		t.Errorf("%+v", x)
	}
	if f := jsonOf[foundIn](t, "report", run).Findings[0]; f.Kind != "late_sender" || f.Ticks != 190 || f.Cause == nil || f.Cause.Process != 1 || f.Cause.Region != "Running" {
		t.Errorf("%+v", f)
	}
	if text := must(t, "report", run, "untold"); !strings.Contains(text, "no functions but MPI") {
		t.Error(text)
	}
}

// TestStatesLikeEvents: without its lines of events a trace of EPOCH has the same late senders and receivers, and the same time in calls of each class that
// states tell apart.
func TestStatesLikeEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sharedTraces(t), "..", "paraver", "epoch", "epoch_4proc.prv.gz")
	packed, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var states bytes.Buffer
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("2:")) {
			states.Write(line)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "states.prv"), states.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var got [2]stateSums
	var late [2]string
	for i, from := range []string{path, filepath.Join(dir, "states.prv")} {
		run := filepath.Join(dir, fmt.Sprintf("%d.xtf", i))
		must(t, "analyze", from, "-o", run, "-q")
		got[i] = jsonOf[stateSums](t, "report", run)
		for line := range strings.Lines(must(t, "report", run, "waits", "--format", "csv")) {
			if fields := strings.SplitN(line, ",", 4); fields[0] == "wait" && strings.HasPrefix(fields[3], "late_") && !strings.HasPrefix(fields[3], "late_broadcast") {
				late[i] += fields[3]
			}
		}
	}
	with, without := got[0].Summary.Ticks, got[1].Summary.Ticks
	if with.Total != without.Total || with.P2P != without.P2P || with.Collective != without.Collective || with.Barrier != without.Barrier {
		t.Errorf("with events %+v, without %+v", with, without)
	}
	if late[0] == "" || late[0] != late[1] {
		t.Errorf("with events %s, without %s", late[0], late[1])
	}
}

// gpuTrace is a task with a host thread and streams of two devices, the second of them before another host thread. Kernels of the first device
// run from 120 to 280 and from 520 to 700, its transfer from 30 to 90; the kernel of the second one runs from 120 to 200.
const gpuTrace = `#Paraver (01/02/2026 at 10:11):1000_ns:1(2):1:1(4:1)
2:1:1:1:1:20:CALL:3
2:1:1:1:1:100:CALL:0
2:1:1:1:1:100:CALL:1
3:1:1:1:1:105:105:1:1:1:2:120:120:0:7
2:1:1:1:1:110:CALL:0
2:1:1:1:1:110:CALL:4
2:1:1:1:1:300:CALL:0
2:1:1:1:1:1000:1000:1
2:1:1:1:2:30:MOVE:7
2:1:1:1:2:90:MOVE:0
2:1:1:1:2:120:EXEC:1
2:1:1:1:2:280:EXEC:0
2:1:1:1:2:520:EXEC:2
2:1:1:1:2:700:EXEC:0
2:1:1:1:3:120:EXEC:1
2:1:1:1:3:200:EXEC:0
2:1:1:1:4:10:60000019:1
2:1:1:1:4:900:60000019:0
`

// TestDevicesOfParaver: kernels and transfers are known by the labels of their event types, whose numbers differ between versions of Extrae.
func TestDevicesOfParaver(t *testing.T) {
	t.Parallel()
	for kernel, types := range map[string][3]string{"CUDA kernel execution": {"63000000", "63000001", "63000006"}, "CUDA kernel": {"63000001", "63000014", "63000019"}} {
		dir := t.TempDir()
		file, run := filepath.Join(dir, "gpu.prv"), filepath.Join(dir, "run.xtf")
		text := strings.NewReplacer("CALL", types[0], "MOVE", types[1], "EXEC", types[2]).Replace(gpuTrace)
		labels := "EVENT_TYPE\n0 " + types[0] + " CUDA library call\nVALUES\n0 End\n1 cudaLaunch\n3 cudaMemcpy\n4 cudaDeviceSynchronize\n\n" +
			"EVENT_TYPE\n0 " + types[1] + " CUDA memory transfer\nVALUES\n0 End\n7 cudaMemcpyAsync\n\n" +
			"EVENT_TYPE\n0 " + types[2] + " " + kernel + "\nVALUES\n0 End\n1 vecadd(float*)\n2 reduce\n"
		const rows = "LEVEL THREAD SIZE 4\nTHREAD 1.1.1\nGPU-D1.S1-host\nGPU-D2.S1-host\nTHREAD 1.1.4\n"
		for name, text := range map[string]string{file: text, strings.TrimSuffix(file, "prv") + "pcf": labels, strings.TrimSuffix(file, "prv") + "row": rows} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, ranks := range []string{"1", "3"} {
			must(t, "analyze", file, "-o", run, "-q", "-f", "-j", ranks)
			x := jsonOf[devicesIn](t, "report", run).Summary.Devices
			if x == nil || len(x.List) != 2 {
				t.Fatalf("%s: %+v", kernel, x)
			}
			if a, b := x.List[0], x.List[1]; a.Name != "GPU-D1" || a.Kernel != 340 || a.Transfer != 60 || b.Name != "GPU-D2" || b.Kernel != 80 {
				t.Errorf("%s, %s ranks: %+v, %+v", kernel, ranks, a, b)
			}
			if got, want := times(x.Hosts), "before 0/10, cpu 180/700, device_wait 160/190, launch 0/10, transfer_call 0/80"; got != want {
				t.Errorf("%s: %s, want %s", kernel, got, want)
			}
			text := must(t, "report", run, "summary", "diagnostics")
			if !strings.Contains(text, "vecadd(float*)") || !strings.Contains(text, "records that join calls to what they start on devices, left out: 1") || strings.Contains(text, "messages  ") {
				t.Error(text)
			}
		}
	}
}
