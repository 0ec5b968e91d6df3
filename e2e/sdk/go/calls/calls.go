// Package calls lets a test call an SDK: calls are read from stdin, one a line ("Action {parameters}"), and each
// answer is printed as one line of JSON, the response as the SDK's model has it or the error's Code and Message.
package calls

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Region, Endpoint and key of the cloud.
var (
	Region    = os.Getenv("SDK_REGION")
	Endpoint  = os.Getenv("SDK_ENDPOINT")
	KeyID     = os.Getenv("SDK_KEY_ID")
	KeySecret = os.Getenv("SDK_KEY_SECRET")
)

type Parameters map[string]any

// Fill sets the fields of a request's model.
func (p Parameters) Fill(request any) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, request)
}

type Action func(Parameters) (any, error)

// Serve answers until stdin ends. codeOf is the cloud's code of an error.
func Serve(actions map[string]Action, codeOf func(error) string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := call(actions, lines.Text())
		if err != nil {
			answer = map[string]string{"Code": codeOf(err), "Message": err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}

func call(actions map[string]Action, line string) (any, error) {
	name, text, _ := strings.Cut(line, " ")
	parameters := Parameters{}
	if err := json.Unmarshal([]byte(text), &parameters); err != nil {
		return nil, err
	}
	action, known := actions[name]
	if !known {
		return nil, fmt.Errorf("no action %q", name)
	}
	return action(parameters)
}
