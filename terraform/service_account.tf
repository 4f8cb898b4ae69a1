# Who the gateway is, and all that it may do.

resource "google_service_account" "gateway" {
  account_id   = "${var.name}-gateway"
  display_name = "Iris: the running gateway"

  depends_on = [google_project_service.apis]
}

# Documents of this one database, not its settings.
resource "google_project_iam_member" "gateway_database" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.gateway.member

  condition {
    title       = "only ${var.name}"
    description = "Only the database of Iris"
    expression  = "resource.name == \"projects/${var.project}/databases/${var.database}\""
  }
}

# Sending pushes. FCM knows no smaller thing than the project.
resource "google_project_iam_member" "gateway_push" {
  count = var.push == "fcm" ? 1 : 0

  project = var.project
  role    = "roles/firebasecloudmessaging.admin"
  member  = google_service_account.gateway.member
}

resource "google_secret_manager_secret_iam_member" "gateway_reads_admin_token" {
  secret_id = google_secret_manager_secret.admin_token.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.gateway.member
}

resource "google_secret_manager_secret_iam_member" "gateway_reads_otlp_headers" {
  count = local.otlp_headers ? 1 : 0

  secret_id = google_secret_manager_secret.otlp_headers[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.gateway.member
}
