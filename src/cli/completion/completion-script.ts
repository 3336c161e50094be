/**
 * The scripts that complete a command line in a shell. They ask the program, as kubectl does for its plugins, so that an
 * old script completes new flags.
 */

const BASH = `# Completion for bash: source <(hookpolicy completion bash)
_hookpolicy() {
  local rest=$COMP_LINE program=\${COMP_WORDS[0]} breaks=\${COMP_WORDBREAKS//[^=:@]/} words=() at word cur value
  # Bash splits a typed word at = and the like
  for ((at = 0; at <= COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    if ((at > 1)) && [[ -n $word && $rest != [[:space:]]* ]]; then words[\${#words[@]}-1]+=$word
    elif ((at > 0)); then words+=("$word")
    fi
    rest=\${rest#*"$word"}
  done
  # and replaces only the part after the last of them
  word=\${words[\${#words[@]}-1]} cur=$word
  [[ -z $breaks ]] || cur=\${word##*[$breaks]}
  [[ $program != "~/"* ]] || program=$HOME/\${program#"~/"}
  case $(type -t "$program") in file | function) ;; *) program=hookpolicy ;; esac # an alias
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    case $value in
      :0)
        compopt -o filenames 2>/dev/null
        while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$cur")
        ;;
      :*) ;;
      *) COMPREPLY+=("\${value#"\${word%"$cur"}"}") ;;
    esac
  done < <("$program" __complete "\${words[@]}" 2>/dev/null)
}

complete -F _hookpolicy hookpolicy kubectl-hookpolicy
`;

const ZSH = `#compdef hookpolicy kubectl-hookpolicy
# Completion for zsh: source <(hookpolicy completion zsh)
_hookpolicy() {
  local value about files= ret=1
  local -a values
  while IFS=$'\\t' read -r value about; do
    case $value in
      :0) files=yes ;;
      :*) ;;
      *) values+=("\${value//:/\\\\:}\${about:+:$about}") ;;
    esac
  done < <("\${words[1]/#\\~\\//$HOME/}" __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( \${#values} )) && _describe value values && ret=0
  if [[ -n $files ]]; then
    compset -P '--*='
    _files && ret=0
  fi
  return ret
}

if [[ $funcstack[1] == _hookpolicy ]]; then _hookpolicy "$@"; else compdef _hookpolicy hookpolicy kubectl-hookpolicy; fi
`;

const FISH = `# Completion for fish: hookpolicy completion fish | source
function __hookpolicy_complete
  set -l before (commandline -opc)
  set -l typed (commandline -ct)
  set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
  type -q $program; or return
  set -l lines ($program __complete $before[2..-1] "$typed" 2>/dev/null)
  string match -v ':*' -- $lines
  if contains -- :0 $lines
    set -l flag (string match -r '^--[a-z-]+=' -- "$typed")
    set -l files (__fish_complete_path (string replace -r '^--[a-z-]+=' '' -- "$typed"))
    string replace -r -- '^' "$flag" $files
  end
end
complete -c hookpolicy -f -a '(__hookpolicy_complete)'
complete -c kubectl-hookpolicy -f -a '(__hookpolicy_complete)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
