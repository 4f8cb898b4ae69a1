# How the source becomes an image: Cloud Build, by ../cloudbuild.yaml, in its
# global region, since not every project may build in each one. The first
# apply builds once; later deployments are the command in the output `deploy`.

locals {
  image = "${var.region}-docker.pkg.dev/${var.project}/${var.name}/gateway"

  # The very first image; what runs later is not terraform's business.
  first_image = var.image != "" ? var.image : "${local.image}:first"

  build = join(" ", [
    "gcloud builds submit .",
    "--config cloudbuild.yaml",
    "--project ${var.project}",
    "--service-account ${google_service_account.build.id}",
    "--gcs-source-staging-dir gs://${google_storage_bucket.source.name}/source",
    "--substitutions",
    "_SERVICE=${var.name},_IMAGE=${local.image},_RUN_REGION=${var.region},_VERSION=$(git describe --always --dirty --tags)",
  ])
}

resource "google_service_account" "build" {
  account_id   = "${var.name}-build"
  display_name = "Iris: builds and deploys the gateway"

  depends_on = [google_project_service.apis]
}

# The archive that `gcloud builds submit` uploads.
resource "google_storage_bucket" "source" {
  name                        = "${var.project}-${var.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # only copies of the source

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age = 7
    }
  }

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  depends_on = [google_project_service.apis]
}

resource "google_storage_bucket_iam_member" "build_reads_source" {
  bucket = google_storage_bucket.source.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.build.member
}

resource "google_artifact_registry_repository_iam_member" "build_pushes" {
  repository = google_artifact_registry_repository.images.name
  location   = google_artifact_registry_repository.images.location
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}

resource "google_project_iam_member" "build_logs" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

# Deploying: this one service, as this one account.
resource "google_cloud_run_v2_service_iam_member" "build_deploys" {
  name     = google_cloud_run_v2_service.gateway.name
  location = google_cloud_run_v2_service.gateway.location
  role     = "roles/run.developer"
  member   = google_service_account.build.member
}

resource "google_service_account_iam_member" "build_acts_as_gateway" {
  service_account_id = google_service_account.gateway.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.build.member
}

# Needs gcloud, logged in, where terraform runs. With var.image nothing is built.
resource "terraform_data" "first_image" {
  count = var.image == "" ? 1 : 0

  triggers_replace = local.first_image

  provisioner "local-exec" {
    working_dir = "${path.module}/.."
    command     = "sleep 60 && ${local.build},_TAG=first,_DEPLOY=false" # until the grants below are known
  }

  depends_on = [
    google_artifact_registry_repository_iam_member.build_pushes,
    google_project_iam_member.build_logs,
    google_storage_bucket_iam_member.build_reads_source,
  ]
}
