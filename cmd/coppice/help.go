package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report"
)

// topic is a short explanation: coppice help NAME.
type topic struct {
	name string
	text string
}

func topics() []topic {
	return []topic{
		{"intervals", `An interval is a piece of the program: what markers, regions, time slices or the time between collectives delimit
(coppice analyze --help). Intervals nest; the whole program is the outermost one.

  coppice report run.xtf                          the tree, with efficiency and lost time
  coppice report run.xtf intervals --details      everything about each
  coppice report run.xtf intervals --per-execution
  coppice report run.xtf intervals --time 40%..60% --ranks 0-3

  execution    longest time of a process              total        execution x processors
  productive   CPU + I/O + MPI of one processor       lost         total - productive = MPI + idle + markers
  efficiency   productive / total: look closer below 0.8

docs/metrics.md has every formula.`},
		{"waits", `A wait state is a span in which a process waits for another one inside MPI.

  coppice report run.xtf waits                    patterns, intervals, call paths, processes, causes, critical path
  coppice report run.xtf waits --time interval:solve
  coppice report run.xtf waits --ranks 3

  late_sender, late_receiver       one side of a message comes too late
  wait_barrier, wait_nxn           members of a collective come at different times
  late_broadcast, early_reduce, early_scan

"caused by" names who came late, and with what it was busy meanwhile: shorten that. On the critical path, a positive
imbalance is time that the run would save if all processes shared that work.`},
		{"pop", `Efficiencies of POP: products of factors, each 1 at best. Look closer below 0.8.

  parallel      = load balance x communication        useful time over all time
  load balance  mean useful time / largest            below: deal out the work evenly
  communication = serialisation x transfer
  serialisation largest useful time / runtime on an ideal network     below: processes wait in turn for one another
  transfer      runtime on an ideal network / runtime                 below: network and MPI library take the time

  coppice report run.xtf pop
  coppice report scaling run-2.xtf run-4.xtf run-8.xtf --at 1024      the factors over several runs, and their growth`},
		{"conditions", `--fail-if CONDITION of report, analyze and diff ends with exit status 1 if it holds; repeat it for several. That of predict
has metrics of its own: coppice predict --help.

  [interval:NAME.]METRIC OP NUMBER[UNIT]

  --fail-if 'parallel_efficiency<0.8'
  --fail-if 'interval:solve.efficiency<70%'
  --fail-if 'interval:exch.c:160.late_sender>1.5s'

NAME is a name, an id, FILE:LINE, root or #N. OP is one of < <= > >= == !=. Metrics:

` + wrapped(report.MetricNames(), 100)},
		{"slurm", `coppice plan sizes a job from its trace, writes the batch script, and submits it.

  coppice plan analyze run/traces.otf2 -o run.xtf                      ranks, nodes, memory, time, and what decided them
  coppice plan analyze run/traces.otf2 -o run.xtf --format script      the batch script
  coppice plan analyze run/traces.otf2 -o run.xtf --submit --follow
  coppice plan analyze run/traces.otf2 -o run.xtf --submit --then 'predict --platform cluster.toml'
  coppice info coppice-1234.status --follow                            a job that runs
  scancel 1234                                                         it saves; submitted again it goes on

Near its time limit, or preempted, a job saves what is finished, ends with status 75 and goes back into the queue. --rate, or
--calibrate, which measures it here, says what a rank goes through in a second. A site file (--site, $COPPICE_SITE) names
partition, account, cores, memory, launcher and modules once; its least form:

  schema = "coppice.site/1"
  cores = 128
  memory_gib = 512

--scheduler pbs, lsf, flux or mpirun writes scripts for those. docs/slurm.md has the formula and all keys.`},
		{"exit-codes", `   0  done
   1  done, but a --fail-if condition holds, check found problems, diff --max-slowdown a slower interval, or the program deadlocks on the platform of predict
   2  wrong usage: flags, output exists, locked by another run
   3  input cannot be read, or is not what the verb takes
   4  finished with damaged or partial input, or --strict refused it
   5  memory or disk would be exceeded, the file system of the output failed, or nothing moved any more (--watchdog)
   6  a bug of coppice
  75  stopped by SIGUSR1, SIGTERM or before the time limit; run the same command with --resume
 130  ended at once by SIGINT, 143 by a second SIGTERM 2 s later; the last checkpoint stays valid`},
	}
}

// wrapped joins words to indented lines.
func wrapped(words []string, width int) string {
	var b strings.Builder
	line := " "
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+1+len(w) > width {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + w
	}
	return b.String() + line
}

// help prints the list of verbs, a topic, or the help of a verb.
func help(args []string, s streams) error {
	if len(args) == 0 {
		printHelp(s.out)
		return nil
	}
	names := []string{}
	for _, x := range topics() {
		if x.name == args[0] {
			_, err := fmt.Fprintln(s.out, x.text)
			return err
		}
		names = append(names, x.name)
	}
	all := verbs()
	if i := slices.IndexFunc(all, func(v verb) bool { return v.name == args[0] }); i >= 0 {
		return all[i].run([]string{"--help"}, s)
	}
	return usage("help: %q is neither a verb nor one of %s", args[0], strings.Join(names, ", "))
}

// printTopics lists the topics.
func printTopics(w io.Writer) {
	var names []string
	for _, x := range topics() {
		names = append(names, x.name)
	}
	fmt.Fprintf(w, "coppice help TOPIC explains %s.\n", strings.Join(names, ", "))
}
