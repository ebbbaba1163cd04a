// Package prediction simulates the run of a file on another machine, collectively over the ranks of a communicator, and measures
// the machine that it runs on.
//
//	platform  all ranks read the files of target and host
//	program   each rank reads the call graphs of its processes: one program, own
//	          computation vectors, classes
//	vectors   rank 0 reads measured vectors, all get them
//	check     the recorded run on its own platform, and with representatives alone
//	simulate  the run on the target; its times go to segments
//	sweep     once more for every point
//	collect   rank 0 gets the times of all processes
//	then      Analyze reads the predicted run, if it is wanted
//
// A platform with contention is simulated by rank 0 alone.
package prediction
