# bash completion for plugin-ls                            -*- shell-script -*-
# SPDX-License-Identifier: MIT

# The first column of the list, without its titles and its summary.
_plugin_ls_names ()
{
  plugin-ls 2>/dev/null | awk 'NR > 2 && /^[^ ]/ && $2 !~ /^providers?:$/ { print $1 }'
}

_plugin_ls ()
{
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local options='--probe --timeout --no-cache --clear-cache --deps --paths --all --exists --min-version --cap --why
    --path --only --json --color=auto --color=never --version --help'

  # "=" is a word of its own on bash's command line.
  [[ $current == = ]] && { previous='=' current=''; }
  case $previous in
    --timeout | --min-version) COMPREPLY=() ;;
    --exists) mapfile -t COMPREPLY < <(compgen -W "$(_plugin_ls_names)" -- "$current") ;;
    --cap) mapfile -t COMPREPLY < <(compgen -W 'execute files detached capture isolation' -- "$current") ;;
    --color | =) mapfile -t COMPREPLY < <(compgen -W 'auto never' -- "$current") ;;
    --path) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    --why) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    *)
      case $current in
        -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
        */*) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(_plugin_ls_names)" -- "$current") ;;
      esac
      ;;
  esac
}

complete -F _plugin_ls plugin-ls
