package pipeline

// Constants of walk that were fixed by experiment: chosen on grids of pipelines (shared, own and mixed centers; light and
// heavy load; five laws of service; 448 scenarios) so that the error of the response against simulation is least, before
// the random scenarios that accuracy is stated for were drawn. They are not derived from theory.

// residualSCV caps the variability that the residual of the customer in service of a FCFS center is computed from.
const residualSCV = 2.0

// clockShare is how much of the view on another job comes from its work clock, when a job spends that part of its cycle
// running. The exponent is 2.
func clockShare(running float64) float64 { return square(running) }

// residualDamping is what a residual shrinks by at utilisation u. The exponent is 2.
func residualDamping(u float64) float64 { return 1 - square(u) }

// square is x times x, rounded before anything is added to it.
func square(x float64) float64 { return float64(x * x) }
