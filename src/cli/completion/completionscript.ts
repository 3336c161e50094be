/**
 * The scripts that complete a command line in a shell. They ask the program, as kubectl does for its plugins: what can be
 * completed is known in one place, and a script that was installed long ago knows new flags.
 */

const BASH = `# Completion for bash: source <(hookpolicy completion bash)
_hookpolicy() {
  local cur=\${COMP_WORDS[COMP_CWORD]} before="" word value flag="" words=()
  # bash splits --flag=value into three words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    flag=""
    if [[ $word == "=" && $before == --* ]]; then words[\${#words[@]}-1]+="="; flag=$before=
    elif [[ $before == "=" ]]; then flag=\${words[\${#words[@]}-1]}; words[\${#words[@]}-1]+=$word
    else words+=("$word")
    fi
    before=$word
  done
  [[ $cur != "=" ]] || cur=""
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    case $value in
      :0)
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
        ;;
      :*) ;;
      *) COMPREPLY+=("\${value#"$flag"}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null)
}

complete -F _hookpolicy hookpolicy kubectl-hookpolicy
`;

const ZSH = `#compdef hookpolicy kubectl-hookpolicy
# Completion for zsh: source <(hookpolicy completion zsh)
_hookpolicy() {
  local value about files
  local -a values
  while IFS=$'\\t' read -r value about; do
    case $value in
      :0) files=yes ;;
      :*) ;;
      *) values+=("\${value//:/\\\\:}\${about:+:$about}") ;;
    esac
  done < <("$words[1]" __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( \${#values} )) && _describe value values
  [[ -z $files ]] || _files
}

if [[ $funcstack[1] == _hookpolicy ]]; then _hookpolicy "$@"; else compdef _hookpolicy hookpolicy kubectl-hookpolicy; fi
`;

const FISH = `# Completion for fish: hookpolicy completion fish | source
function __hookpolicy_complete
  set -l before (commandline -opc)
  set -l lines ($before[1] __complete $before[2..-1] (commandline -ct) 2>/dev/null)
  string match -v ':*' -- $lines
  contains -- :0 $lines; and __fish_complete_path (commandline -ct)
end
complete -c hookpolicy -f -a '(__hookpolicy_complete)'
complete -c kubectl-hookpolicy -f -a '(__hookpolicy_complete)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
