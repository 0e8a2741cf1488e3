/* SPDX-License-Identifier: MIT */
#include "bound.h"
#include "call.h"
#include "handle.h"
#include "record.h"
#include "steps.h"
#include "text.h"

#include <string.h>

/**
 * capture.c: prepares instances, from a capture where there is one that fits. It fits when the record has it under the
 * capture key, nothing has changed that the key does not bind, and the engine still has it. Whatever else comes up
 * makes it a miss with a reason, never a failure: then the instance is built, and captured for the next time.
 */

#define REPOSITORY "praisonai-env" /* of the images, as the PraisonAI package names them */

/* One call of compute_prepare or compute_explain_capture. */
struct preparation
{
  struct compute_handle *handle;
  struct definition definition;
  struct compute_call call;
  uint32_t flags;
  struct compute_prepared about;
};

/* Names of which no capture may have a value, whatever the environment says. */
static const char *const secret_names[] = {
  "OPENAI_API_KEY",  "ANTHROPIC_API_KEY", "GEMINI_API_KEY",     "GOOGLE_API_KEY",     "GROQ_API_KEY",
  "MISTRAL_API_KEY", "COHERE_API_KEY",    "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY",   "XAI_API_KEY",
  "OPENAI_BASE_URL", "OPENAI_API_BASE",   "E2B_API_KEY",        "DAYTONA_API_KEY",    "NOVITA_API_KEY",
  "TENKI_API_KEY",   "FLY_API_TOKEN",     "MODAL_TOKEN_ID",     "MODAL_TOKEN_SECRET",
};

static const char *
backend_name (const struct preparation *preparation)
{
  return compute_get_provider (preparation->handle)->name;
}

static char *
capture_ref (const struct preparation *preparation)
{
  return g_strdup_printf ("%s:%s", REPOSITORY, preparation->definition.key);
}

static void
tell (const struct preparation *preparation, const char *step)
{
  struct compute_progress progress = { .size = sizeof progress, .step = step };

  if (preparation->call.progress != NULL)
    preparation->call.progress (preparation->call.user, &progress);
}

static void miss (struct preparation *preparation, const char *format, ...) COMPUTE_PRINTF (2, 3);

static void
miss (struct preparation *preparation, const char *format, ...)
{
  g_autofree char *why = NULL;
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  g_strlcpy (preparation->about.why, why, sizeof preparation->about.why);
}

/* ---- Is there a capture? ----------------------------------------------------------------------------------------- */

/* False, with why, when this definition on this provider is not captured at all; otherwise it has an image. */
static gboolean
is_captured (struct preparation *preparation)
{
  const struct compute_capture *captures = handle_captures (preparation->handle);

  if (captures == NULL)
    miss (preparation, "%s keeps no captures", backend_name (preparation));
  else if (!definition_is_prepared (&preparation->definition))
    miss (preparation, "there is neither packages nor setup");
  else if ((captures->flags & COMPUTE_CAPTURE_COSTS) != 0 && !preparation->definition.environment->may_cost)
    miss (preparation, "a capture costs money on %s; the environment needs 'capture: true'",
          backend_name (preparation));
  else
    {
      if (preparation->definition.config.image == NULL)
        preparation->definition.config.image = DEFINITION_IMAGE; /* its key says so */
      return TRUE;
    }
  return FALSE;
}

/* True with the image that the name of the capture stands for now, when the record's entry fits. A base image that the
 * engine does not have any more can have become no other one. */
static gboolean
fits_image (struct preparation *preparation, const cJSON *entry, struct compute_image *ret_image)
{
  g_autofree char *ref = capture_ref (preparation);
  const char *const refs[] = { ref, preparation->definition.config.image };
  struct compute_image images[G_N_ELEMENTS (refs)] = { 0 };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int rc = handle_has (preparation->handle, refs, G_N_ELEMENTS (refs), &preparation->call, images, &why);

  if (rc != 0)
    miss (preparation, "the image of the capture could not be looked at: %s", compute_error_text (rc));
  else if (images[0].id[0] == '\0')
    miss (preparation, "the image of the capture is gone");
  else if (!bound_is_image (entry, &images[0]))
    miss (preparation, "the image of the capture is another one now");
  else if (images[1].id[0] != '\0' && bound_base_moved (entry, &images[1]))
    miss (preparation, "the base image %s is another one now", refs[1]);
  else
    {
      *ret_image = images[0];
      return TRUE;
    }
  return FALSE;
}

/* True with the image to start from; false with why there is none. */
static gboolean
find_capture (struct preparation *preparation, struct compute_image *ret_image)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  const char *differs = NULL;
  gboolean found = FALSE;
  cJSON *record = NULL;
  const cJSON *entry;

  if (record_read (&record, &why) != 0)
    {
      miss (preparation, "%s", why.message);
      return FALSE;
    }
  entry = cJSON_GetObjectItemCaseSensitive (record, preparation->definition.key);
  if (!cJSON_IsObject (entry)
      || g_strcmp0 (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (entry, "backend")),
                    backend_name (preparation))
             != 0)
    miss (preparation, "there is no capture of this definition and these values yet");
  else if (!cJSON_HasObjectItem (entry, "base"))
    miss (preparation, "the capture was made by a program that does not say what it was made from");
  else if (bound_compare (entry, &preparation->definition, &differs, &why) != 0)
    miss (preparation, "%s", why.message);
  else if (differs != NULL)
    miss (preparation, "the capture was made with other %s", differs);
  else
    found = fits_image (preparation, entry, ret_image);
  cJSON_Delete (record);
  return found;
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */

/* Ends what was begun, whatever the caller's cancel says, and keeps the first error. There is no instance then. */
static int
give_up (struct preparation *preparation, struct compute_instance *instance, int rc)
{
  struct compute_error later = COMPUTE_ERROR_INIT;

  if (compute_shutdown (preparation->handle, instance->id, NULL, &later) != 0)
    handle_log (preparation->handle, COMPUTE_LOG_WARNING, "instance %s, which was not ready yet, was not ended: %s",
                instance->id, later.message);
  instance->id[0] = '\0';
  return rc;
}

static int
build (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  int rc
      = compute_provision (preparation->handle, &preparation->definition.config, &preparation->call, ret_instance, err);

  if (rc != 0)
    return rc;
  rc = steps_prepare (preparation->handle, ret_instance->id, &preparation->definition, &preparation->call, err);
  return rc != 0 ? give_up (preparation, ret_instance, rc) : 0;
}

/* Starts from a capture. */
static int
reuse (struct preparation *preparation, const struct compute_image *image, struct compute_instance *ret_instance,
       struct compute_error *err)
{
  struct compute_config config = preparation->definition.config;
  int rc;

  config.image = image->id;
  rc = compute_provision (preparation->handle, &config, &preparation->call, ret_instance, err);
  if (rc != 0)
    return rc;
  preparation->about.flags |= COMPUTE_PREPARED_REUSED;
  preparation->about.why[0] = '\0';
  rc = steps_refresh (preparation->handle, ret_instance->id, &preparation->definition, &preparation->call, err);
  return rc != 0 ? give_up (preparation, ret_instance, rc) : 0;
}

/* ---- Capturing --------------------------------------------------------------------------------------------------- */

/* What is to become of the record. */
struct entry_change
{
  const struct preparation *preparation;
  cJSON *entry; /* the new one; NULL: only last_used changes */
};

static void
set_number (cJSON *entry, const char *name, double number)
{
  cJSON_DeleteItemFromObjectCaseSensitive (entry, name);
  cJSON_AddNumberToObject (entry, name, number);
}

static gboolean
touch_entry (void *user, cJSON *record)
{
  const struct entry_change *change = user;
  cJSON *entry = cJSON_GetObjectItemCaseSensitive (record, change->preparation->definition.key);

  if (!cJSON_IsObject (entry))
    return FALSE; /* pruned meanwhile */
  set_number (entry, "last_used", record_now ());
  return TRUE;
}

static gboolean
put_entry (void *user, cJSON *record)
{
  const struct entry_change *change = user;
  const char *key = change->preparation->definition.key;
  cJSON *entry = cJSON_GetObjectItemCaseSensitive (record, key);
  const cJSON *member;

  if (!cJSON_IsObject (entry))
    {
      cJSON_DeleteItemFromObjectCaseSensitive (record, key);
      entry = cJSON_AddObjectToObject (record, key);
    }
  cJSON_ArrayForEach (member, change->entry)
  {
    cJSON_DeleteItemFromObjectCaseSensitive (entry, member->string);
    cJSON_AddItemToObject (entry, member->string, cJSON_Duplicate (member, 1));
  }
  set_number (entry, "last_used", record_now ());
  return TRUE;
}

static void
touch (struct preparation *preparation)
{
  struct entry_change change = { preparation, NULL };
  struct compute_error why = COMPUTE_ERROR_INIT;

  if (record_change (touch_entry, &change, handle_warn, preparation->handle, &why) != 0)
    handle_log (preparation->handle, COMPUTE_LOG_WARNING, "the use of a capture was not recorded: %s", why.message);
}

/* The names that are to have no value, each with the value to look for. */
static GArray *
list_secrets (const struct preparation *preparation)
{
  const GArray *env = preparation->definition.env;
  GArray *secrets = g_array_new (FALSE, FALSE, sizeof (struct compute_pair));

  g_array_append_vals (secrets, env->data, env->len);
  for (size_t i = 0; i < G_N_ELEMENTS (secret_names); i++)
    {
      struct compute_pair pair = { secret_names[i], "" };

      g_array_append_val (secrets, pair);
    }
  return secrets;
}

static int
capture (struct preparation *preparation, const char *instance, struct compute_image *base, struct compute_image *image,
         struct compute_error *err)
{
  struct compute_capture_request request = COMPUTE_CAPTURE_REQUEST_INIT;
  g_autofree char *ref = capture_ref (preparation);
  g_autoptr (GArray) secrets = list_secrets (preparation);

  request.ref = ref;
  if ((preparation->flags & COMPUTE_PREPARE_REFUSE_SECRETS) != 0)
    request.flags = COMPUTE_CAPTURE_REFUSE_SECRETS;
  request.secrets = (const struct compute_pair *) secrets->data;
  request.secret_count = secrets->len;
  return handle_capture (preparation->handle, instance, &request, &preparation->call, base, image, err);
}

static int
record_capture (struct preparation *preparation, cJSON *entry, const struct compute_image *base,
                const struct compute_image *image, struct compute_error *err)
{
  struct entry_change change = { preparation, entry };
  g_autofree char *ref = capture_ref (preparation);

  bound_record_images (entry, base, image);
  cJSON_AddStringToObject (entry, "backend", backend_name (preparation));
  cJSON_AddStringToObject (entry, "ref", ref);
  cJSON_AddStringToObject (entry, "definition", preparation->definition.hash);
  cJSON_AddNumberToObject (entry, "created_at", record_now ());
  return record_change (put_entry, &change, handle_warn, preparation->handle, err);
}

/* What the provider says may name the image, and so the key. */
static void
warn_of_failure (struct preparation *preparation, const char *instance, const struct compute_error *why)
{
  g_autoptr (GString) reason = g_string_new (why->message);

  g_string_replace (reason, preparation->definition.key, "...", 0);
  miss (preparation, "the capture failed: %s", reason->str);
  handle_log (preparation->handle, COMPUTE_LOG_WARNING, "[%s_compute] capture failed for %s (ephemeral fallback): %s",
              backend_name (preparation), instance, reason->str);
}

/* Keeps what was built; when that fails the instance is as good as before. entry has what was bound when the building
 * began. */
static int
keep (struct preparation *preparation, cJSON *entry, const struct compute_instance *instance, struct compute_error *err)
{
  struct compute_image base = { 0 }, image = { 0 };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int rc = capture (preparation, instance->id, &base, &image, &why);

  if (rc == 0)
    rc = record_capture (preparation, entry, &base, &image, &why);
  if (rc == COMPUTE_E_CANCELLED)
    return compute_error_set (err, rc, 0, "%s", why.message);
  if (rc != 0)
    warn_of_failure (preparation, instance->id, &why);
  else
    preparation->about.flags |= COMPUTE_PREPARED_CAPTURED;
  return 0;
}

static int
build_and_keep (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_error why = COMPUTE_ERROR_INIT;
  cJSON *entry = cJSON_CreateObject ();
  int rc, bound_rc = bound_record (entry, &preparation->definition, &why);

  rc = build (preparation, ret_instance, err);
  if (rc == 0 && bound_rc != 0)
    warn_of_failure (preparation, ret_instance->id, &why);
  else if (rc == 0)
    rc = keep (preparation, entry, ret_instance, err);
  cJSON_Delete (entry);
  return rc == COMPUTE_E_CANCELLED && ret_instance->id[0] != '\0' ? give_up (preparation, ret_instance, rc) : rc;
}

/* ---- Reuse, or build --------------------------------------------------------------------------------------------- */

static void
tell_wait (void *user)
{
  tell (user, "wait for another process that builds this environment");
}

/* True when another start, of the base image, may do better than that of the capture did. */
static gboolean
is_fault_of_capture (int rc)
{
  return rc == COMPUTE_E_ENGINE || rc == COMPUTE_E_NOT_FOUND || rc == COMPUTE_E_NOT_STARTED;
}

/* rc is what came of the capture's start: 0, an error to hand on, or a positive number: there is nothing to reuse. */
static int
try_reuse (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_image image = { 0 };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int rc;

  if (!find_capture (preparation, &image))
    return 1;
  rc = reuse (preparation, &image, ret_instance, &why);
  if (rc == 0)
    {
      touch (preparation);
      return 0;
    }
  if (is_fault_of_capture (rc) && (preparation->about.flags & COMPUTE_PREPARED_REUSED) == 0)
    {
      miss (preparation, "no instance could be made from the capture (%s)", compute_error_text (rc));
      return 1;
    }
  return compute_error_set (err, rc, why.sys_errno, "%s", why.message);
}

/* One of those who miss builds; the others then find what it has built. */
static int
prepare_captured (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct key_lock lock = { -1 };
  struct compute_error why = COMPUTE_ERROR_INIT;
  int rc = try_reuse (preparation, ret_instance, err);

  if (rc <= 0)
    return rc;
  rc = key_lock_take (&lock, preparation->definition.key, preparation->call.cancel_fd, tell_wait, preparation, &why);
  if (rc == COMPUTE_E_CANCELLED)
    return compute_error_set (err, rc, 0, "%s", why.message);
  if (rc != 0) /* no record can be kept either */
    {
      rc = build (preparation, ret_instance, err);
      if (rc == 0)
        warn_of_failure (preparation, ret_instance->id, &why);
      return rc;
    }
  rc = try_reuse (preparation, ret_instance, err);
  if (rc > 0)
    rc = build_and_keep (preparation, ret_instance, err);
  key_lock_release (&lock);
  return rc;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

static int
preparation_check (struct compute_handle *handle, const struct compute_environment *environment, uint32_t flags,
                   struct compute_error *err)
{
  if (handle == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no provider was asked for; name one");
  if (environment == NULL)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "no environment was given");
  if ((flags & ~COMPUTE_PREPARE_REFUSE_SECRETS) != 0)
    return compute_error_set (err, COMPUTE_E_INVALID, 0, "unknown flags 0x%x", flags);
  return 0;
}

static int
with_preparation (struct compute_handle *handle, const struct compute_environment *environment,
                  const struct compute_config *config, uint32_t flags, const struct compute_call *call,
                  int (*work) (struct preparation *preparation, struct compute_instance *ret_instance,
                               struct compute_error *err),
                  struct compute_instance *ret_instance, struct compute_prepared *ret_about, struct compute_error *err)
{
  __attribute__ ((cleanup (own_config_clear))) struct own_config own = { .env = NULL };
  struct preparation preparation = { .handle = handle, .flags = flags, .about = COMPUTE_PREPARED_INIT };
  int rc = preparation_check (handle, environment, flags, err);

  if (rc == 0)
    rc = call_take (&preparation.call, call, err);
  if (rc == 0 && ret_about != NULL)
    rc = result_check (ret_about, "report", err);
  if (rc == 0)
    rc = config_take_for_provision (&own, config, err);
  if (rc != 0)
    return rc;
  definition_init (&preparation.definition, environment, &own.config);
  memcpy (preparation.about.definition, preparation.definition.hash, sizeof preparation.definition.hash);
  rc = work (&preparation, ret_instance, err);
  definition_clear (&preparation.definition);
  if (ret_about != NULL)
    result_give (ret_about, &preparation.about, sizeof preparation.about);
  return rc;
}

static int
prepare (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  return is_captured (preparation) ? prepare_captured (preparation, ret_instance, err)
                                   : build (preparation, ret_instance, err);
}

int
compute_prepare (struct compute_handle *handle, const struct compute_environment *environment,
                 const struct compute_config *config, uint32_t flags, const struct compute_call *call,
                 struct compute_instance *ret_instance, struct compute_prepared *ret_about, struct compute_error *err)
{
  struct compute_instance instance = COMPUTE_INSTANCE_INIT;
  int rc = result_check (ret_instance, "instance", err);

  if (rc == 0)
    rc = with_preparation (handle, environment, config, flags, call, prepare, &instance, ret_about, err);
  if (rc == 0)
    result_give (ret_instance, &instance, sizeof instance);
  return rc;
}

static int
explain (struct preparation *preparation, struct compute_instance *ret_instance, struct compute_error *err)
{
  struct compute_image image = { 0 };

  (void) ret_instance;
  (void) err;
  if (is_captured (preparation) && find_capture (preparation, &image))
    preparation->about.flags = COMPUTE_PREPARED_REUSED;
  return 0;
}

int
compute_explain_capture (struct compute_handle *handle, const struct compute_environment *environment,
                         const struct compute_config *config, const struct compute_call *call,
                         struct compute_prepared *ret_about, struct compute_error *err)
{
  return with_preparation (handle, environment, config, 0, call, explain, NULL, ret_about, err);
}
