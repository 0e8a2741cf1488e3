# bash completion for compute                              -*- shell-script -*-
# SPDX-License-Identifier: MIT

# Subcommands and options come from the program's own help, so that they are those of the one installed.
_compute_subcommands ()
{
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p'
}

_compute_options ()
{
  "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[a-z-]*\) .*/\1/p'
}

_compute_options_with_value ()
{
  "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[a-z-]*\) [A-Z].*/\1/p'
}

# Sets start to the place of the first word of the command that is to run, perhaps the current one; to nothing while options
# and ID go on.
_compute_find_command ()
{
  local place operands=0 leading=0 values

  values=" $(_compute_options_with_value "$1" "$2" | tr '\n' ' ')"
  start=''
  [[ $2 == exec ]] && leading=1
  for ((place = 2; place <= COMP_CWORD; place++)); do
    case ${COMP_WORDS[place]} in
      --)
        start=$((place + 1))
        break
        ;;
      -*)
        if [[ ${COMP_WORDS[place + 1]} == '=' ]]; then
          place=$((place + 2))
        elif [[ $values == *" ${COMP_WORDS[place]} "* ]]; then
          place=$((place + 1))
        fi
        ;;
      *)
        if ((operands == leading)); then
          start=$place
          break
        fi
        operands=$((operands + 1))
        ;;
    esac
  done
  ((start > COMP_CWORD)) && start='' # the current word is "--": perhaps an option's first letters
}

_compute_words ()
{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_compute_files ()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

# A file here, or an ID with a colon; the path behind that is inside, and nothing is known of it.
_compute_cp ()
{
  local ids

  [[ $current == ':' || $previous == ':' ]] && return
  mapfile -t ids < <(compgen -S : -W "$("$1" ps --quiet 2>/dev/null)" -- "$current")
  _compute_files -f
  ((${#ids[@]} == 0)) && return
  compopt -o nospace 2>/dev/null
  COMPREPLY+=("${ids[@]}")
}

# The tools of the file that --tools names, for the first operand.
_compute_tools ()
{
  local place file=''

  for ((place = 2; place < COMP_CWORD; place++)); do
    if [[ ${COMP_WORDS[place]} == --tools ]]; then
      file=${COMP_WORDS[place + 1]}
      [[ $file == '=' ]] && file=${COMP_WORDS[place + 2]}
    fi
  done
  [[ $file ]] && _compute_words "$("$1" tool --tools "$file" --list --quiet 2>/dev/null)"
}

_compute_operand ()
{
  case $2 in
    exec | status | down) _compute_words "$("$1" ps --quiet 2>/dev/null)" ;;
    cp) _compute_cp "$1" ;;
    tool) _compute_tools "$1" ;;
  esac
}

_compute_option_or_operand ()
{
  # "=" is a word of its own on bash's command line.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
    --on) _compute_words "$("$1" providers --quiet 2>/dev/null)" ;;
    --env) mapfile -t COMPREPLY < <(compgen -e -- "$current") ;;
    --env-file | --tools) _compute_files -f ;;
    --path) _compute_files -d ;;
    -c | --image | --workdir | --timeout | --max-output | --option) ;;
    *)
      case $current in
        -*) _compute_words "$(_compute_options "$1" "$2")" ;;
        *) _compute_operand "$1" "$2" ;;
      esac
      ;;
  esac
}

_compute ()
{
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} subcommand=${COMP_WORDS[1]} start=''

  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _compute_words "$(_compute_subcommands "$1") --help --version"
    return
  fi
  [[ $subcommand == run || $subcommand == exec ]] && _compute_find_command "$1" "$subcommand"
  if [[ ! $start ]]; then
    _compute_option_or_operand "$1" "$subcommand"
  elif ((COMP_CWORD == start)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$current")
  else
    _compute_files -f
  fi
}

complete -F _compute compute
