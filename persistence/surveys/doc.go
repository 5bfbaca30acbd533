// Package surveys keeps surveys and their respondents. The sums of a survey change in the
// transaction that changes its respondents.
package surveys
