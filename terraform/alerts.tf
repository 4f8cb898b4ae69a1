# What wakes a person, by mail. Each alert has a page in ../docs/playbooks.

locals {
  alerts = var.alert_email != ""

  # Counted in the gateway's log and in Cloud Run's own. The quoted messages are
  # those of the code; deploytest holds the two together.
  log_alerts = {
    crashes = {
      means = "An instance ended that nobody had told to: it exited with an error, ran out of memory or did not answer its probe."
      above = 0
      filter = join(" AND ", [
        "log_id(\"run.googleapis.com/varlog/system\")",
        "textPayload=~\"(Container called exit[(][1-9]|Uncaught signal|Memory limit of|(?i)liveness)\"",
      ])
    }
    push_failures = {
      means = "Pushes do not reach FCM or ntfy, so phones sleep through their messages."
      above = 5
      filter = join(" OR ", [
        "(jsonPayload.message=\"not pushed\" AND jsonPayload.outcome=\"failed\")",
        "jsonPayload.message=\"push is tried again\"",
      ])
    }
    firestore_errors = {
      means = "Firestore refuses or does not answer; messages wait until it does."
      above = 5
      filter = join(" OR ", [
        "jsonPayload.message=\"commit not answered\"",
        "jsonPayload.message=\"commit rejected\"",
        "jsonPayload.message=\"follow the log\"",
        "jsonPayload.message=\"read entries\"",
        "jsonPayload.message=\"store is not ready\"",
      ])
    }
  }

  this_service = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${var.name}\""

  policies = merge(
    { for name, a in local.log_alerts : name => {
      means  = a.means
      above  = a.above
      filter = "metric.type=\"logging.googleapis.com/user/${var.name}/${name}\" AND ${local.this_service}"
    } },
    { server_errors = {
      means  = "The gateway answers requests with 5xx."
      above  = 10
      filter = "metric.type=\"run.googleapis.com/request_count\" AND metric.labels.response_code_class=\"5xx\" AND ${local.this_service}"
    } },
  )
}

resource "google_logging_metric" "metrics" {
  for_each = local.log_alerts

  name        = "${var.name}/${each.key}"
  description = each.value.means
  filter      = "${local.this_service} AND (${each.value.filter})"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
    unit        = "1"
  }

  depends_on = [google_project_service.apis]
}

resource "google_monitoring_notification_channel" "email" {
  count = local.alerts ? 1 : 0

  display_name = "Iris"
  type         = "email"
  labels       = { email_address = var.alert_email }

  depends_on = [google_project_service.apis]
}

# More than `above` within five minutes.
resource "google_monitoring_alert_policy" "policies" {
  for_each = local.alerts ? local.policies : {}

  display_name = "Iris: ${replace(each.key, "_", " ")}"
  combiner     = "OR"

  conditions {
    display_name = each.value.means
    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.above
      duration        = "0s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "${each.value.means} What to do: docs/playbooks/${each.key}.md in the source of Iris."
  }

  notification_channels = [google_monitoring_notification_channel.email[0].id]

  # A new metric is not known at once: after the service it is.
  depends_on = [google_logging_metric.metrics, google_cloud_run_v2_service.gateway]
}
