# FCM wakes phones: it belongs to Firebase, so the project becomes a Firebase
# project. That cannot be undone; destroy only forgets it.

locals {
  android = var.android_package != ""
}

resource "google_firebase_project" "firebase" {
  provider = google-beta
  count    = var.push == "fcm" ? 1 : 0

  project = var.project

  depends_on = [google_project_service.apis]
}

resource "google_firebase_android_app" "android" {
  provider = google-beta
  count    = local.android ? 1 : 0

  display_name    = "Iris for Android"
  package_name    = var.android_package
  deletion_policy = "DELETE"

  depends_on = [google_firebase_project.firebase]
}

resource "google_firebase_web_app" "web" {
  provider = google-beta
  count    = var.web_app ? 1 : 0

  display_name    = "Iris in the browser"
  deletion_policy = "DELETE"

  depends_on = [google_firebase_project.firebase]
}

data "google_firebase_android_app_config" "android" {
  provider = google-beta
  count    = local.android ? 1 : 0

  app_id = google_firebase_android_app.android[0].app_id
}

data "google_firebase_web_app_config" "web" {
  provider = google-beta
  count    = var.web_app ? 1 : 0

  web_app_id = google_firebase_web_app.web[0].app_id
}
