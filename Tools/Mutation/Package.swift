// swift-tools-version: 6.2
import PackageDescription

/// One place for the language settings of every target of this package; the same as in the root package.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
/// The same version as the macros of the root package.
func syntax(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-syntax") }

/// A package of its own, so that the build of the other tools does not compile swift-syntax.
let package = Package(
  name: "coherence-mutation",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "coherence-mutate", targets: ["coherence-mutate"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
  ],
  targets: [
    .target(
      name: "Mutants", dependencies: [syntax("SwiftOperators"), syntax("SwiftParser"), syntax("SwiftSyntax")],
      path: "Sources/Mutants", swiftSettings: strict),
    .executableTarget(
      name: "coherence-mutate", dependencies: ["Mutants", argumentParser], path: "Sources/Mutate",
      swiftSettings: strict),
    .testTarget(name: "MutantsTests", dependencies: ["Mutants"], path: "Tests/Mutants", swiftSettings: strict),
  ]
)
