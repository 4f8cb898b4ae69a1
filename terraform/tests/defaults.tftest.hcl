# What `terraform apply` makes when only the project is given.

mock_provider "google" {}
mock_provider "google-beta" {}
mock_provider "random" {}

variables {
  project = "my-project"
}

run "service" {
  command = plan

  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].timeout == "3600s"
    error_message = "sockets are cut before an hour"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].session_affinity
    error_message = "no session affinity"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.scaling[0].min_instance_count == 0
    error_message = "an idle gateway costs something"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].scaling[0].max_instance_count == 1
    error_message = "two instances cost twice as much"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].containers[0].resources[0].cpu_idle
    error_message = "not billed by request"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].containers[0].startup_probe[0].http_get[0].path == "/health"
    error_message = "the start-up probe asks something else"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].containers[0].liveness_probe[0].http_get[0].path == "/health"
    error_message = "the liveness probe asks something else"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.invoker_iam_disabled
    error_message = "phones cannot reach the gateway"
  }
  assert {
    condition     = google_cloud_run_v2_service.gateway.template[0].containers[0].image == "us-central1-docker.pkg.dev/my-project/iris/gateway:first"
    error_message = "not the image that is built"
  }
}

run "settings" {
  command = plan

  assert {
    condition = { for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e.name => e.value if e.name != "IRIS_ADMIN_TOKEN" } == {
      IRIS_PROJECT         = "my-project"
      IRIS_DATABASE        = "(default)"
      IRIS_PUSH            = "fcm"
      IRIS_PUSH_PREVIEW    = "true"
      IRIS_LOG_ENTRIES     = "2048"
      IRIS_MAX_SOCKETS     = "225"
      IRIS_BUCKET          = "my-project-iris-media"
      IRIS_MEDIA_MAX_BYTES = "67108864"
      IRIS_MEDIA_QUOTA     = "5368709120"
    }
    error_message = "the settings differ from what is asked for"
  }
}

# With an image nothing is built: an apply runs provisioners in earnest.
run "token" {
  command = apply

  variables {
    image = "example.org/iris/gateway:v1"
  }

  assert {
    condition = one([
      for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e if e.name == "IRIS_ADMIN_TOKEN"
    ]).value_source[0].secret_key_ref[0].version == google_secret_manager_secret_version.admin_token.version
    error_message = "the admin token does not come from the version that terraform made"
  }
  assert {
    condition     = google_secret_manager_secret_version.admin_token.secret_data == random_password.admin_token.result
    error_message = "the secret is not the generated token"
  }
  assert {
    condition     = strcontains(output.next, "export IRIS_URL=${google_cloud_run_v2_service.gateway.uri}\n") && !strcontains(output.next, random_password.admin_token.result)
    error_message = "the next commands are for another gateway, or show the token"
  }
  assert {
    condition     = strcontains(output.deploy, "gcloud builds submit . --config cloudbuild.yaml --project my-project ") && endswith(output.deploy, "_SERVICE=iris,_IMAGE=us-central1-docker.pkg.dev/my-project/iris/gateway,_RUN_REGION=us-central1,_VERSION=$(git describe --always --dirty --tags)")
    error_message = "the command deploys something else"
  }
}
