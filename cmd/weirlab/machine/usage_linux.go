package machine

import (
	"os"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Own returns the resources that this process has used, without its peak memory.
func Own() Usage {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return Usage{}
	}
	return Usage{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), Written: int64(u.Oublock) * 512} //nolint:unconvert // it is shorter on some machines
}

// OwnPeak returns the peak memory of this process. The value of getrusage may be
// that of the process which started this one.
func OwnPeak() int64 { return peakOf(os.Getpid()) }

// Of returns the resources that another process has used.
func Of(pid int) (Usage, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, err
	}
	stat, err := p.Stat()
	if err != nil {
		return Usage{}, err
	}
	io, _ := p.IO() // 0 without the right to read it
	return Usage{CPU: seconds(stat.CPUTime()), Peak: peakOf(pid), Written: int64(io.WriteBytes)}, nil
}

// peakOf returns the peak memory of a process in bytes; 0 if it is unknown.
func peakOf(pid int) int64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, _ := p.NewStatus()
	return int64(status.VmHWM)
}

// PSS returns the proportional set size of a process in bytes; 0 if it is unknown.
func PSS(pid int) int64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	maps, _ := p.ProcSMapsRollup()
	return int64(maps.Pss)
}

// busy returns the CPU time that all processes of the machine have used; 0 if it is unknown.
func busy() time.Duration {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	stat, _ := fs.Stat()
	all := stat.CPUTotal // guest time is already counted as user time
	return seconds(all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
