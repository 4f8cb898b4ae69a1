# Iris in one Google Cloud project: README.md says how to use it. One file for
# each thing that is deployed.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.45, < 8.0"
    }
    google-beta = {
      source  = "hashicorp/google-beta"
      version = ">= 7.45, < 8.0"
    }
    random = {
      source  = "hashicorp/random"
      version = ">= 3.9, < 4.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

# Firebase and budgets ask whose quota a person's own credentials use.
provider "google-beta" {
  project               = var.project
  region                = var.region
  billing_project       = var.project
  user_project_override = true
}
