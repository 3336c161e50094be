package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// maxMessageBytes is our own limit: Cluster API puts messages into a condition that must not grow without bounds.
const maxMessageBytes = 1024

// outcome is what Cluster API does after an answer.
type outcome string

const (
	goesOn outcome = "goes on"
	waits  outcome = "waits"
	fails  outcome = "fails"
)

// wanted says for each file what Cluster API must do after every answer in it.
var wanted = map[string]outcome{
	"allowed":        goesOn,
	"observed":       goesOn,
	"audit":          goesOn,
	"blocked":        waits,
	"not-evaluable":  waits,
	"not-loaded":     waits,
	"not-confirmed":  waits,
	"internal-error": waits,
	"undecodable":    fails,
}

// notIn111 are the hooks that Cluster API 1.11 does not know: one of them makes it refuse the whole discovery.
var notIn111 = sets.New("BeforeControlPlaneUpgrade", "BeforeWorkersUpgrade", "AfterWorkersUpgrade")

func checkResponses(catalog *runtimecatalog.Catalog, folder string) error {
	var errs []error
	for name, want := range wanted {
		file := "responses." + name + ".jsonl"
		for i, line := range readLines(folder, file, len(lifecycleHooks), &errs) {
			if err := checkHookResponse(catalog, lifecycleHooks[i], line, want); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", file, i+1, err))
			}
		}
	}
	for _, minor := range []string{"1.11", "1.14"} {
		file := "discovery." + minor + ".jsonl"
		for _, line := range readLines(folder, file, 1, &errs) {
			if err := checkDiscovery(catalog, line, minor); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", file, err))
			}
		}
	}
	return errors.Join(errs...)
}

func readLines(folder, file string, want int, errs *[]error) [][]byte {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		*errs = append(*errs, err)
		return nil
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) != want {
		*errs = append(*errs, fmt.Errorf("%s: %d lines instead of %d", file, len(lines), want))
		return nil
	}
	return lines
}

func checkHookResponse(catalog *runtimecatalog.Catalog, hook runtimecatalog.Hook, line []byte, want outcome) error {
	gvh, err := catalog.GroupVersionHook(hook)
	if err != nil {
		return err
	}
	object, err := decode(catalog, gvh, line)
	if err != nil {
		return err
	}
	response, ok := object.(hooksv1.ResponseObject)
	if !ok {
		return fmt.Errorf("%T is not a response", object)
	}
	got, err := read(response)
	if err != nil {
		return err
	}
	_, canWait := object.(hooksv1.RetryResponseObject)
	if !canWait && want == waits {
		want = goesOn
	}
	if got != want {
		return fmt.Errorf("%s: Cluster API %s where it %s after the same answer of other hooks: %s", gvh.Hook, got, want, line)
	}
	if got == goesOn && canWait && response.GetMessage() != "" {
		// Cluster API joins the messages of all handlers, so one that lets go must be silent.
		return fmt.Errorf("an answer that lets go has the message %q", response.GetMessage())
	}
	return checkMessage(response.GetMessage(), got)
}

// decode does what httpCall in sigs.k8s.io/cluster-api/internal/runtime/client/client.go does, and refuses what that ignores:
// unknown fields, another kind, bytes after the answer.
func decode(catalog *runtimecatalog.Catalog, gvh runtimecatalog.GroupVersionHook, line []byte) (runtime.Object, error) {
	lenient, err := catalog.NewResponse(gvh)
	if err != nil {
		return nil, err
	}
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(lenient); err != nil {
		return nil, fmt.Errorf("Cluster API cannot decode the answer: %w", err)
	}
	object, err := catalog.NewResponse(gvh)
	if err != nil {
		return nil, err
	}
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(object); err != nil {
		return nil, err
	}
	if _, err := strict.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more after the answer")
	}
	gvk, err := catalog.Response(gvh)
	if err != nil {
		return nil, err
	}
	if got := object.GetObjectKind().GroupVersionKind(); got != gvk {
		return nil, fmt.Errorf("the answer is a %s and not a %s", got, gvk)
	}
	if err := catalog.ValidateResponse(gvh, object); err != nil {
		return nil, err
	}
	return object, checkFields(object, line)
}

// checkFields finds what a decoded answer does not show: a required field that is missing, or one in other upper and lower case.
func checkFields(object runtime.Object, line []byte) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &fields); err != nil {
		return err
	}
	required := []string{"apiVersion", "kind", "status"}
	if _, ok := object.(hooksv1.RetryResponseObject); ok {
		required = append(required, "retryAfterSeconds")
	}
	for _, field := range required {
		if _, ok := fields[field]; !ok {
			return fmt.Errorf("%s is missing", field)
		}
	}
	return nil
}

// read does what validateResponseStatus and aggregateSuccessfulResponses in client.go do.
func read(response hooksv1.ResponseObject) (outcome, error) {
	switch response.GetStatus() {
	case hooksv1.ResponseStatusFailure:
		return fails, nil
	case hooksv1.ResponseStatusSuccess:
	default:
		return "", fmt.Errorf("unknown response status %q", response.GetStatus())
	}
	retry, ok := response.(hooksv1.RetryResponseObject)
	if !ok || retry.GetRetryAfterSeconds() == 0 {
		return goesOn, nil
	}
	if retry.GetRetryAfterSeconds() < 0 {
		return "", fmt.Errorf("retryAfterSeconds %d waits and is never asked again", retry.GetRetryAfterSeconds())
	}
	return waits, nil
}

func checkMessage(message string, got outcome) error {
	switch {
	case got != goesOn && message == "":
		return fmt.Errorf("an answer that holds has no message")
	case len(message) > maxMessageBytes:
		return fmt.Errorf("the message has %d bytes", len(message))
	case !utf8.ValidString(message) || strings.ContainsAny(message, "\n\r\t\uFFFD"):
		return fmt.Errorf("the message is not one line of text: %q", message)
	}
	return nil
}

// checkDiscovery does what Discover and defaultAndValidateDiscoveryResponse in client.go do. Every field must be there: what
// Cluster API defaults, it may default to something else one day.
func checkDiscovery(catalog *runtimecatalog.Catalog, line []byte, minor string) error {
	gvh, err := catalog.GroupVersionHook(hooksv1.Discovery)
	if err != nil {
		return err
	}
	object, err := decode(catalog, gvh, line)
	if err != nil {
		return err
	}
	response, ok := object.(*hooksv1.DiscoveryResponse)
	if !ok || response.Status != hooksv1.ResponseStatusSuccess || response.Message != "" {
		return fmt.Errorf("discovery does not succeed in silence: %s", line)
	}
	missing := sets.New[string]()
	for _, hook := range lifecycleHooks {
		if name := runtimecatalog.HookName(hook); minor != "1.11" || !notIn111.Has(name) {
			missing.Insert(name)
		}
	}
	names := sets.New[string]()
	var errs []error
	for _, handler := range response.Handlers {
		if names.Has(handler.Name) {
			errs = append(errs, fmt.Errorf("duplicate handler %s", handler.Name))
		}
		names.Insert(handler.Name)
		if !missing.Has(handler.RequestHook.Hook) {
			errs = append(errs, fmt.Errorf("a handler for %s, which Cluster API %s does not call, or a second one", handler.RequestHook.Hook, minor))
		}
		missing.Delete(handler.RequestHook.Hook)
		errs = append(errs, checkHandler(catalog, handler))
	}
	if missing.Len() > 0 {
		errs = append(errs, fmt.Errorf("no handler for %s", strings.Join(sets.List(missing), ", ")))
	}
	return errors.Join(errs...)
}

func checkHandler(catalog *runtimecatalog.Catalog, handler hooksv1.ExtensionHandler) error {
	var errs []error
	for _, problem := range validation.IsDNS1123Label(handler.Name) {
		errs = append(errs, fmt.Errorf("handler name %s: %s", handler.Name, problem))
	}
	if seconds := handler.TimeoutSeconds; seconds == nil || *seconds < 1 || *seconds > 30 {
		errs = append(errs, fmt.Errorf("handler %s: timeoutSeconds must be between 1 and 30", handler.Name))
	}
	if policy := handler.FailurePolicy; policy == nil || *policy != hooksv1.FailurePolicyFail {
		errs = append(errs, fmt.Errorf("handler %s: failurePolicy must be Fail", handler.Name))
	}
	gv, err := schema.ParseGroupVersion(handler.RequestHook.APIVersion)
	if err != nil {
		errs = append(errs, err)
	}
	gvh := runtimecatalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: handler.RequestHook.Hook}
	if !catalog.IsHookRegistered(gvh) {
		errs = append(errs, fmt.Errorf("handler %s: hook %s is not in the catalog", handler.Name, gvh))
	}
	return errors.Join(errs...)
}
