locals {
  apis = toset(concat([
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "fcm.googleapis.com",
    "firebase.googleapis.com",
    "firebaserules.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
  ], local.budget ? ["billingbudgets.googleapis.com"] : []))
}

# Left on by destroy: something else in the project may use them, and an API
# that nobody calls costs nothing.
resource "google_project_service" "apis" {
  for_each = local.apis

  service            = each.key
  disable_on_destroy = false
}
