# The gateway may do what it does, and no more.

mock_provider "google" {
  mock_resource "google_service_account" {
    override_during = plan
    defaults = {
      email  = "iris@my-project.iam.gserviceaccount.com"
      member = "serviceAccount:iris@my-project.iam.gserviceaccount.com"
    }
  }
}
mock_provider "google-beta" {}
mock_provider "random" {}

variables {
  project = "my-project"
}

override_resource {
  target          = google_service_account.gateway
  override_during = plan
  values = {
    email  = "iris-gateway@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:iris-gateway@my-project.iam.gserviceaccount.com"
    name   = "projects/my-project/serviceAccounts/iris-gateway@my-project.iam.gserviceaccount.com"
  }
}

run "gateway" {
  command = plan

  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].service_account == "iris-gateway@my-project.iam.gserviceaccount.com"
    error_message = "the service runs as somebody else"
  }
  assert {
    condition = toset([
      for g in concat(
        [google_project_iam_member.gateway_database, google_storage_bucket_iam_member.gateway_media, google_secret_manager_secret_iam_member.gateway_reads_admin_token],
        google_project_iam_member.gateway_push,
      ) : "${g.role} to ${g.member}"
      ]) == toset([for role in ["datastore.user", "storage.objectUser", "secretmanager.secretAccessor", "firebasecloudmessaging.admin"] :
      "roles/${role} to serviceAccount:iris-gateway@my-project.iam.gserviceaccount.com"
    ])
    error_message = "the gateway's roles differ"
  }
  assert {
    condition     = google_project_iam_member.gateway_database.condition[0].expression == "resource.name == \"projects/my-project/databases/(default)\""
    error_message = "the gateway may read other databases of the project"
  }
  assert {
    condition     = google_storage_bucket_iam_member.gateway_media.bucket == "my-project-iris-media"
    error_message = "the gateway may write to another bucket"
  }
}

run "without_push" {
  command = plan

  variables {
    push = "off"
  }

  assert {
    condition     = length(google_project_iam_member.gateway_push) == 0 && length(google_firebase_project.firebase) == 0
    error_message = "without pushes there is no need for FCM"
  }
}

run "build" {
  command = plan

  assert {
    condition     = google_service_account_iam_member.build_acts_as_gateway.service_account_id == google_service_account.gateway.name
    error_message = "the build may act as another account"
  }
  assert {
    condition = [
      google_cloud_run_v2_service_iam_member.build_deploys.role,
      google_artifact_registry_repository_iam_member.build_pushes.role,
      google_storage_bucket_iam_member.build_reads_source.role,
      google_project_iam_member.build_logs.role,
    ] == ["roles/run.developer", "roles/artifactregistry.writer", "roles/storage.objectViewer", "roles/logging.logWriter"]
    error_message = "the build's roles differ"
  }
  assert {
    condition     = google_cloud_run_v2_service_iam_member.build_deploys.name == "iris" && google_storage_bucket_iam_member.build_reads_source.bucket == "my-project-iris-source"
    error_message = "the build may touch something else"
  }
}
