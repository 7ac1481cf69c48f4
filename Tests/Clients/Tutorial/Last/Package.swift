// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "shelf",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coherence", path: "../coherence"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "shelf",
      dependencies: [
        .product(name: "Coherence", package: "coherence"),
        .product(name: "CoherenceModelMacros", package: "coherence"),
        .product(name: "CoherenceHTTP", package: "coherence"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    .testTarget(
      name: "ShelfTests",
      dependencies: [
        "shelf",
        .product(name: "Coherence", package: "coherence"),
        .product(name: "CoherenceHTTP", package: "coherence"),
      ]),
  ]
)
