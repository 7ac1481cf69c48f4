// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "chores",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coherence", path: "../coherence")
  ],
  targets: [
    .executableTarget(
      name: "chores",
      dependencies: [
        .product(name: "Coherence", package: "coherence"),
        .product(name: "CoherenceModelMacros", package: "coherence"),
        .product(name: "CoherenceOutbox", package: "coherence"),
      ])
  ]
)
