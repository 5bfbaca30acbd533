// Package config turns the environment into a checked Config, and reports
// every mistake in it at once.
//
// The struct below is the only list of Weir's variables: names, defaults, what
// is allowed and the documentation are its tags. A variable that nothing reads
// is not in it.
package config

import (
	"log/slog"
	"time"
)

// Config is the configuration of one Weir process. Get one from [Load].
type Config struct {
	DatabaseURL string `envconfig:"DATABASE_URL" default:"sqlite://weir.db" secret:"true" allowed:"sqlite://FILE or mysql://USER:PASSWORD@HOST:PORT/DATABASE" desc:"where everything is kept"`
	ListenAddr  string `envconfig:"LISTEN_ADDR" default:"127.0.0.1:8080" allowed:"HOST:PORT with a port from 0 to 65535; a loopback host while WEIR_API_TOKENS is not set" desc:"where Weir listens for HTTP"`
	PublicURL   string `envconfig:"PUBLIC_URL" allowed:"an http or https URL with a host and without query or fragment" desc:"the address under which providers reach LISTEN_ADDR; derived from it when absent"`
	APITokens   Tokens `envconfig:"WEIR_API_TOKENS" secret:"true" allowed:"one or more tokens, separated by commas, of printable ASCII without blanks" desc:"tokens of which every API request must carry one"`

	DefaultChannelCapacity int `envconfig:"DEFAULT_CHANNEL_CAPACITY" default:"100" allowed:"1 to 1000000" desc:"capacity of a channel that names none"`

	GCIdle     Minutes `envconfig:"CHNL_BKR_GC_IDLE_MINUTES" default:"2" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"silence after which the provider is asked about a contact"`
	GCInterval Minutes `envconfig:"CHNL_BKR_GC_INTERVAL_MINUTES" default:"2" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"pause between two rounds of asking"`
	LostAfter  Minutes `envconfig:"LOST_AFTER_MINUTES" default:"60" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"how long a contact whose fate nobody can tell keeps its slots before it ends as lost"`
	ShutDown   Minutes `envconfig:"SHUT_DOWN_MINUTES" default:"30" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"idle time after which a channel's actor stops; it comes back when it is needed"`

	SettleAfter        Period `envconfig:"WEIR_SETTLE_AFTER" default:"60s" allowed:"10ms to 1h" desc:"how long after a hand-over with an unclear result the provider is asked"`
	SendTimeout        Period `envconfig:"WEIR_SEND_TIMEOUT" default:"15s" allowed:"10ms to 5m" desc:"how long a provider may take to answer a request"`
	SendConcurrency    int    `envconfig:"WEIR_SEND_CONCURRENCY" default:"64" allowed:"1 to 10000" desc:"most contacts of one channel that are being handed over at the same time"`
	CollectConcurrency int    `envconfig:"WEIR_COLLECT_CONCURRENCY" default:"4" allowed:"1 to 1000" desc:"most contacts of one channel about which the provider is asked at the same time"`
	LeaseTTL           Period `envconfig:"WEIR_LEASE_TTL" default:"15s" allowed:"5s to 5m" desc:"how long a process that died keeps its channels before another one takes them"`
	Retention          Period `envconfig:"WEIR_RETENTION" default:"720h" allowed:"1m to 3650d; 30d means thirty days" desc:"how long finished contacts stay readable"`

	AutoMigrate bool `envconfig:"WEIR_AUTO_MIGRATE" default:"true" allowed:"true or false" desc:"whether serve brings a MySQL schema up to date by itself; SQLite's it always does"`

	LogLevel  LogLevel  `envconfig:"LOG_LEVEL" default:"info" allowed:"debug, info, warn or error" desc:"the least important lines that are logged"`
	LogFormat LogFormat `envconfig:"LOG_FORMAT" allowed:"text or json" desc:"form of the log; when absent text on a terminal, else json"`

	origins map[string]string // variable → where its value is from
}

// Minutes is a span that is written as a number of minutes.
type Minutes time.Duration

// Period is a span that is written with its unit: 15s, 720h, 30d.
type Period time.Duration

// Tokens are secrets of API clients.
type Tokens []string

// LogLevel is the name of a level of log/slog, in lower case.
type LogLevel string

// LogFormat is text, json or empty.
type LogFormat string

// Duration is the span itself.
func (m Minutes) Duration() time.Duration { return time.Duration(m) }

// Duration is the span itself.
func (p Period) Duration() time.Duration { return time.Duration(p) }

// Level is the level for log/slog.
func (l LogLevel) Level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l)) // checked when it was decoded
	return level
}
