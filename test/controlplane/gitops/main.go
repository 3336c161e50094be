// What GitOps tools make of an object, and how they delete one, by the libraries that they use.
//
//	gitops kstatus < objects      Flux and Helm: one line {"status", "message"} per object
//	gitops exprs JSON < objects   Flux with these healthCheckExprs {"inProgress", "failed", "current"}
//	gitops health LUA < objects   Argo CD, by the script in the file LUA
//	gitops prune flux|argo KUBECONFIG [PROPAGATION] < objects   deletes each as the tool does when it has left Git
//	gitops rename KUBECONFIG NEW [last] < objects   syncs, as Argo CD does, NEW (JSON) instead of each; last: PruneLast=true
//	gitops force KUBECONFIG < objects   applies each as Flux does with force: true
//
// Objects are JSON, one after the other.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type answer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	judge, err := judgeOf(os.Args[1:])
	if err == nil {
		err = each(os.Stdin, os.Stdout, judge)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judgeOf(args []string) (func(*unstructured.Unstructured) (answer, error), error) {
	if len(args) == 1 && args[0] == "kstatus" {
		return kstatus, nil
	}
	if len(args) == 2 && args[0] == "exprs" {
		return expressions(args[1])
	}
	if len(args) >= 3 && len(args) <= 4 && args[0] == "prune" {
		return pruning(args[1], args[2], append(args[3:], "")[0])
	}
	if len(args) >= 3 && args[0] == "rename" {
		return renaming(args[1], args[2], len(args) == 4)
	}
	if len(args) == 2 && args[0] == "force" {
		return forcing(args[1])
	}
	if len(args) != 2 || args[0] != "health" {
		return nil, errors.New("usage: gitops kstatus | exprs JSON | health LUA | prune TOOL KUBECONFIG [PROPAGATION] | rename KUBECONFIG NEW [last] | force KUBECONFIG")
	}
	script, err := os.ReadFile(args[1])
	if err != nil {
		return nil, err
	}
	return func(object *unstructured.Unstructured) (answer, error) { return health(object, string(script)) }, nil
}

func each(from io.Reader, to io.Writer, judge func(*unstructured.Unstructured) (answer, error)) error {
	in, out := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var raw json.RawMessage
		if err := in.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		said, err := judge(object)
		if err != nil {
			return err
		}
		if err := out.Encode(said); err != nil {
			return err
		}
	}
}

func kstatus(object *unstructured.Unstructured) (answer, error) {
	result, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}

func expressions(text string) (func(*unstructured.Unstructured) (answer, error), error) {
	exprs := &kustomize.HealthCheckExpressions{}
	if err := json.Unmarshal([]byte(text), exprs); err != nil {
		return nil, err
	}
	evaluator, err := cel.NewStatusEvaluator(exprs)
	if err != nil {
		return nil, err
	}
	return func(object *unstructured.Unstructured) (answer, error) {
		result, err := evaluator.Evaluate(context.Background(), object)
		if err != nil {
			return answer{}, err
		}
		return answer{Status: result.Status.String(), Message: result.Message}, nil
	}, nil
}

// health runs the script as Argo CD does: its Lua, and of the standard library what its sandbox has (util/lua there).
// Its os, which knows only the time, is left out.
func health(object *unstructured.Unstructured, script string) (answer, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		call := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return answer{}, err
		}
	}
	state.SetGlobal("obj", luaValue(state, object.Object))
	if err := state.DoString(script); err != nil {
		return answer{}, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return answer{}, fmt.Errorf("the script returns a %s, not a table", state.Get(-1).Type())
	}
	said := answer{Status: field(table, "status"), Message: field(table, "message")}
	switch said.Status {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
		return said, nil
	}
	return answer{}, fmt.Errorf("the script returns the status %q", said.Status)
}

func field(table *lua.LTable, name string) string {
	if text, ok := table.RawGetString(name).(lua.LString); ok {
		return string(text)
	}
	return ""
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for name, item := range value {
			table.RawSetString(name, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}
