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
let flyingFox = Target.Dependency.product(name: "FlyingFox", package: "FlyingFox")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let coherence = Target.Dependency.product(name: "Coherence", package: "coherence")
let coherenceHTTP = Target.Dependency.product(name: "CoherenceHTTP", package: "coherence")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let actions = Target.Dependency.product(name: "CoherenceActions", package: "coherence")
let core = Target.Dependency.product(name: "CoherenceCore", package: "coherence")
let modelFiles = Target.Dependency.product(name: "CoherenceModelFiles", package: "coherence")
let modelMacros = Target.Dependency.product(name: "CoherenceModelMacros", package: "coherence")
let modelCode = Target.Dependency.product(name: "CoherenceModelCode", package: "coherence")
let identityMap = Target.Dependency.product(name: "CoherenceIdentityMap", package: "coherence")
let macros = Target.Dependency.product(name: "CoherenceMacros", package: "coherence")
let mapping = Target.Dependency.product(name: "CoherenceMapping", package: "coherence")
let persistedActions = Target.Dependency.product(name: "CoherencePersistedActions", package: "coherence")
let outbox = Target.Dependency.product(name: "CoherenceOutbox", package: "coherence")
let refresh = Target.Dependency.product(name: "CoherenceRefresh", package: "coherence")
let strategies = Target.Dependency.product(name: "CoherenceStrategies", package: "coherence")
let coherenceSQLite = Target.Dependency.product(name: "CoherenceSQLite", package: "coherence")
let postgreSQL = Target.Dependency.product(name: "CoherencePostgreSQL", package: "coherence")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")

/// A package of its own, so that a package that depends on Coherence does not resolve the dependencies of its tools.
let package = Package(
  name: "coherence-tools",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "coherence", targets: ["coherence-command"]),
    .executable(name: "coherence-demo", targets: ["coherence-demo"]),
    .executable(name: "coherence-bench", targets: ["coherence-bench"]),
    .executable(name: "coherence-chat", targets: ["coherence-chat"]),
  ],
  dependencies: [
    .package(name: "coherence", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .target(name: "Interrupts", path: "Sources/Interrupts", swiftSettings: strict),
    // Not named as the command: its module would differ from 'Coherence' by the case of a letter alone.
    .executableTarget(
      name: "coherence-command",
      dependencies: [
        "Interrupts", argumentParser, actions, core, modelCode, outbox, persistedActions, refresh, strategies,
        coherenceSQLite, postgreSQL, logging,
      ],
      path: "Sources/Coherence", swiftSettings: strict),
    .target(name: "DemoService", dependencies: [flyingFox], path: "Sources/DemoService", swiftSettings: strict),
    .target(
      name: "DemoClient",
      dependencies: [
        "DemoService", coherence, coherenceHTTP, modelMacros, outbox, postgreSQL, httpTypes, logging,
      ],
      path: "Sources/DemoClient", swiftSettings: strict),
    .executableTarget(
      name: "coherence-demo",
      dependencies: ["DemoService", "DemoClient", "Interrupts", argumentParser, coherence, logging],
      path: "Sources/Demo", swiftSettings: strict),
    .systemLibrary(
      name: "CBench", path: "Sources/CBench", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .executableTarget(
      name: "coherence-bench",
      dependencies: [
        argumentParser, grdb, sqlite, "CBench", coherence, identityMap, mapping, modelFiles, outbox, persistedActions,
        postgreSQL, logging,
      ],
      path: "Sources/Bench", swiftSettings: strict),
    .executableTarget(
      name: "coherence-chat", dependencies: [argumentParser, identityMap, macros], path: "Sources/Chat",
      swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      // The tests run the command as a process; a build of the tests builds the command too.
      dependencies: [
        actions, core, outbox, persistedActions, refresh, strategies, coherenceSQLite, postgreSQL, grdb,
      ],
      path: "Tests/Command", swiftSettings: strict),
    .testTarget(
      name: "ChatTests", dependencies: ["coherence-chat", identityMap], path: "Tests/Chat", swiftSettings: strict),
    .testTarget(
      name: "DemoServiceTests", dependencies: ["DemoService"], path: "Tests/DemoService", swiftSettings: strict),
    .testTarget(
      name: "DemoTests",
      dependencies: ["coherence-demo", "DemoClient", "DemoService", coherence, coherenceHTTP, httpTypes],
      path: "Tests/Demo", swiftSettings: strict),
  ]
)
