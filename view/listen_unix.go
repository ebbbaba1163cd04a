//go:build unix

package view

import (
	"net"
	"syscall"
)

// listenPrivate makes a socket that has mode 0600 from the start.
func listenPrivate(path string) (net.Listener, error) {
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}
