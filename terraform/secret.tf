# Secrets. First the admin token, which opens everything. It is also in terraform's state: keep
# that as you keep the token. A new one: docs/operations.md, "Tokens".

resource "random_password" "admin_token" {
  length  = 43 # of 62 characters: 256 bits
  special = false
}

resource "google_secret_manager_secret" "admin_token" {
  secret_id = "${var.name}-admin-token"

  replication {
    auto {}
  }

  depends_on = [google_project_service.apis]
}

# The service names this very version, so a new token makes a new revision. The
# old version goes when that revision runs.
resource "google_secret_manager_secret_version" "admin_token" {
  secret      = google_secret_manager_secret.admin_token.id
  secret_data = random_password.admin_token.result

  lifecycle {
    create_before_destroy = true
  }
}

# What the receiver of traces and metrics wants to see, such as an API key.

locals {
  otlp_headers = nonsensitive(var.otlp_headers != "")
}

resource "google_secret_manager_secret" "otlp_headers" {
  count = local.otlp_headers ? 1 : 0

  secret_id = "${var.name}-otlp-headers"

  replication {
    auto {}
  }

  depends_on = [google_project_service.apis]
}

resource "google_secret_manager_secret_version" "otlp_headers" {
  count = local.otlp_headers ? 1 : 0

  secret      = google_secret_manager_secret.otlp_headers[0].id
  secret_data = var.otlp_headers

  lifecycle {
    create_before_destroy = true
  }
}
