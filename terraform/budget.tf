# A mail when the month costs more than it should. It stops nothing.

locals {
  budget = var.budget > 0
}

data "google_project" "project" {
  count = local.budget ? 1 : 0

  project_id = var.project
}

resource "google_billing_budget" "month" {
  provider = google-beta
  count    = local.budget ? 1 : 0

  billing_account = var.billing_account
  display_name    = "Iris in ${var.project}"

  budget_filter {
    projects = ["projects/${data.google_project.project[0].number}"]
  }

  amount {
    specified_amount {
      units = tostring(var.budget)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  dynamic "all_updates_rule" {
    for_each = local.alerts ? [true] : []
    content {
      monitoring_notification_channels = [google_monitoring_notification_channel.email[0].id]
    }
  }

  depends_on = [google_project_service.apis]
}
