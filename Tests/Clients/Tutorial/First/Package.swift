// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "shelf",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coherence", path: "../coherence")
  ],
  targets: [
    .executableTarget(
      name: "shelf",
      dependencies: [
        .product(name: "Coherence", package: "coherence"),
        .product(name: "CoherenceModelMacros", package: "coherence"),
      ])
  ]
)
