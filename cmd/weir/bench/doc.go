// Package bench measures Weir: it is the load generator, the provider and the
// judge of one fixed workload, so that two versions, two machines or two
// programs can be compared.
//
// The workload: N contacts of 200 bytes over 10 channels of capacity 50; the
// provider answers at once and reports the end of each contact 10 ms later. The
// provider is a process of its own. It speaks Nuntium's wire format and
// remembers what it saw; a run that lost a contact, sent one twice, exceeded a
// capacity or left the order has no figures.
//
// The floor is the same workload with a broker that keeps everything in memory
// and decides nothing: what HTTP, JSON and goroutines cost. Figures are to be
// read as ratios to the floor of the same session; absolute ones change with
// machine and hour.
package bench
