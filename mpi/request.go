package mpi

// Request is a started Isend, or inside this package a receive. It belongs to the communicator that made it and is completed by
// Wait of that communicator or a relative. A request must be waited for.
type Request struct {
	op   string
	data []byte
	st   Status
	err  error
	done bool // set under the lock of the implementation

	local *localRequest // in-process
	lib   *libRequest   // MPI
}
