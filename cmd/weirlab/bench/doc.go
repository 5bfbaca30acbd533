// Package bench measures Weir: it generates the load, simulates the provider and
// checks the results of one fixed workload, so that two versions, two machines or two
// programs can be compared.
//
// The workload: N contacts of 200 bytes over 10 channels of capacity 50; the
// provider answers immediately and reports each contact done 10 ms later. The
// provider is a separate process. It speaks Nuntium's wire format and records every
// contact; a run that lost a contact, sent one twice, exceeded a capacity or violated
// the order has no figures.
//
// The baseline, peer "floor", is the same workload with a broker that keeps everything
// in memory and decides nothing: the cost of HTTP, JSON and goroutines. Read figures
// as ratios to the baseline of the same session; absolute figures vary with the
// machine and the time of day.
package bench
