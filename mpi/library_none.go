//go:build !cgo || nompi

package mpi

// libRequest is the MPI part of a request; empty in this build.
type libRequest struct{}

// Init returns one rank. Under a launcher of several processes it fails with ErrLaunch.
func Init() (*World, error) {
	if err := checkLaunch(1); err != nil {
		return nil, err
	}
	return &World{comm: Serial(), finish: func(code int) int { return code }}, nil
}

// LibraryVersion names the MPI library of this binary.
func LibraryVersion() string { return "no MPI library (built without MPI)" }
