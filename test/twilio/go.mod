module weirtwilio

go 1.26.0

require (
	github.com/twilio/twilio-go v1.31.0
	weir v0.0.0
)

require (
	github.com/golang-jwt/jwt/v5 v5.2.2 // indirect
	github.com/golang/mock v1.6.0 // indirect
	github.com/nyaruka/phonenumbers v1.8.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace weir => ../..
