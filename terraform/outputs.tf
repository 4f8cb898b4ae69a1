locals {
  url = var.domain != "" ? "https://${var.domain}" : google_cloud_run_v2_service.gateway.uri
}

output "url" {
  description = "Address of the gateway."
  value       = local.url
}

output "next" {
  description = "What to run now: make a gateway, connect hermes, pair a phone."
  value       = <<-EOT
    export IRIS_URL=${local.url}
    export IRIS_ADMIN_TOKEN=$(gcloud secrets versions access ${google_secret_manager_secret_version.admin_token.version} --secret ${google_secret_manager_secret.admin_token.secret_id} --project ${var.project})
    go run ./cmd/iris gateway create home                  # prints the host token
    go run ./cmd/iris host install --url ${local.url}      # where hermes runs; asks for it
    go run ./cmd/iris pair                                 # QR code for the phone
  EOT
}

output "deploy" {
  description = "The command that tests, builds and deploys this source, to be run in its folder."
  value       = local.build
}

output "dns" {
  description = "Records to set for the domain."
  value       = try(google_cloud_run_domain_mapping.domain[0].status[0].resource_records, [])
}

output "admin_token" {
  description = "The admin token: terraform output -raw admin_token."
  value       = random_password.admin_token.result
  sensitive   = true
}

output "android" {
  description = "For the Android app: google-services.json, to be put beside its build."
  value       = local.android ? base64decode(data.google_firebase_android_app_config.android[0].config_file_contents) : null
  sensitive   = true
}

output "web" {
  description = "For the web app: the configuration that Firebase's library asks for."
  sensitive   = true
  value = var.web_app ? {
    apiKey            = data.google_firebase_web_app_config.web[0].api_key
    appId             = google_firebase_web_app.web[0].app_id
    authDomain        = data.google_firebase_web_app_config.web[0].auth_domain
    messagingSenderId = data.google_firebase_web_app_config.web[0].messaging_sender_id
    projectId         = var.project
  } : null
}
