package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is where and when the table was measured.
type machine struct {
	processor, memory, system, commit string
	begin                             time.Time
	took                              time.Duration
}

func thisMachine() *machine {
	m := &machine{processor: runtime.GOARCH, memory: "unknown memory", system: runtime.GOOS, commit: "unknown", begin: time.Now()}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		m.processor = name
	}
	var kib uint64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kib); err == nil {
		m.memory = fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
	}
	if name := field("/etc/os-release", "PRETTY_NAME"); name != "" {
		m.system = name
	}
	if out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.commit = strings.TrimSpace(string(out))
		if exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
			m.commit += " with changes"
		}
	}
	return m
}

func (m *machine) finish() { m.took = time.Since(m.begin) }

// field returns the value of the first line "NAME: VALUE" or "NAME=VALUE" of a file.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if key == line {
			key, value, _ = strings.Cut(line, "=")
		}
		if strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// loadAverage is that of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
