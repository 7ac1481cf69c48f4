// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

/// One place for the language settings of every target of this package.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let collections = Target.Dependency.product(name: "Collections", package: "swift-collections")
let hashTrees = Target.Dependency.product(name: "HashTreeCollections", package: "swift-collections")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let httpTypesFoundation = Target.Dependency.product(name: "HTTPTypesFoundation", package: "swift-http-types")
/// Only for `CoherenceAsyncHTTP`: who does not use it never builds these packages.
let asyncHTTP: [Target.Dependency] = [
  .product(name: "AsyncHTTPClient", package: "async-http-client"),
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOSSL", package: "swift-nio-ssl"),
]
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let lifecycleTestKit = Target.Dependency.product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
/// For those who want publishers where the platform has none.
let openCombine = Target.Dependency.product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"]))
/// Only for the macros: who does not use them never builds it.
func syntax(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-syntax") }
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
/// SQLite's own functions. Who uses the store alone never builds GRDB's Swift module.
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")

let package = Package(
  name: "coherence",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11)],
  products: [
    .library(name: "Coherence", targets: ["Coherence"]),
    .library(name: "CoherenceCore", targets: ["CoherenceCore"]),
    .library(name: "CoherenceStrategies", targets: ["CoherenceStrategies"]),
    .library(name: "CoherenceIdentityMap", targets: ["CoherenceIdentityMap"]),
    .library(name: "CoherenceMacros", targets: ["CoherenceMacros"]),
    .library(name: "CoherenceModelMacros", targets: ["CoherenceModelMacros"]),
    .library(name: "CoherenceActions", targets: ["CoherenceActions"]),
    .library(name: "CoherenceOutbox", targets: ["CoherenceOutbox"]),
    .library(name: "CoherenceMapping", targets: ["CoherenceMapping"]),
    .library(name: "CoherenceModelFiles", targets: ["CoherenceModelFiles"]),
    .library(name: "CoherenceModelCode", targets: ["CoherenceModelCode"]),
    .plugin(name: "CoherenceModelPlugin", targets: ["CoherenceModelPlugin"]),
    .library(name: "CoherenceHTTP", targets: ["CoherenceHTTP"]),
    .library(name: "CoherenceAsyncHTTP", targets: ["CoherenceAsyncHTTP"]),
    .library(name: "CoherenceRefresh", targets: ["CoherenceRefresh"]),
    .library(name: "CoherencePersistedActions", targets: ["CoherencePersistedActions"]),
    .library(name: "CoherenceService", targets: ["CoherenceService"]),
    .library(name: "CoherenceTelemetry", targets: ["CoherenceTelemetry"]),
    .library(name: "CoherenceInMemory", targets: ["CoherenceInMemory"]),
    .library(name: "CoherenceSQLite", targets: ["CoherenceSQLite"]),
    .library(name: "CoherencePostgreSQL", targets: ["CoherencePostgreSQL"]),
    .library(name: "CoherenceConformance", targets: ["CoherenceConformance"]),
  ],
  traits: [.trait(name: "OpenCombine", description: "Publishers of the identity map, by OpenCombine.")],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
  ],
  targets: [
    // MARK: Modules
    .target(name: "CoherenceRuntime", path: "Modules/Runtime"),
    .target(
      name: "CoherenceCore", dependencies: ["CoherenceRuntime", logging], path: "Modules/Core", swiftSettings: strict),
    .target(
      name: "CoherenceStrategies", dependencies: ["CoherenceCore", logging], path: "Modules/Strategies",
      swiftSettings: strict),
    .target(
      name: "CoherenceReconciliation", dependencies: ["CoherenceCore"], path: "Modules/Reconciliation",
      swiftSettings: strict),
    .target(
      name: "CoherenceIdentityMap", dependencies: ["CoherenceRuntime", openCombine], path: "Modules/IdentityMap",
      swiftSettings: strict),
    .macro(
      name: "CoherenceMacrosPlugin",
      dependencies: [
        syntax("SwiftCompilerPlugin"), syntax("SwiftDiagnostics"), syntax("SwiftSyntax"), syntax("SwiftSyntaxBuilder"),
        syntax("SwiftSyntaxMacros"),
      ],
      path: "Modules/Macros/Plugin", swiftSettings: strict),
    .target(
      name: "CoherenceMacros", dependencies: ["CoherenceIdentityMap", "CoherenceMacrosPlugin"], path: "Modules/Macros",
      exclude: ["Plugin"], swiftSettings: strict),
    .macro(
      name: "CoherenceModelMacrosPlugin",
      dependencies: [
        syntax("SwiftCompilerPlugin"), syntax("SwiftDiagnostics"), syntax("SwiftParser"), syntax("SwiftSyntax"),
        syntax("SwiftSyntaxBuilder"), syntax("SwiftSyntaxMacros"),
      ],
      path: "Modules/ModelMacros/Plugin", swiftSettings: strict),
    .target(
      name: "CoherenceModelMacros", dependencies: ["CoherenceCore", "CoherenceModelMacrosPlugin"],
      path: "Modules/ModelMacros", exclude: ["Plugin"], swiftSettings: strict),
    .target(
      name: "CoherenceModelFiles", dependencies: ["CoherenceCore"], path: "Modules/ModelFiles", swiftSettings: strict),
    .target(
      name: "CoherenceModelCode", dependencies: ["CoherenceCore", "CoherenceModelFiles"], path: "Modules/ModelCode",
      swiftSettings: strict),
    // The command of the plugin, without a product of its own.
    .executableTarget(
      name: "coherence-model-tool", dependencies: ["CoherenceCore", "CoherenceModelCode"], path: "Modules/ModelTool",
      swiftSettings: strict),
    .plugin(
      name: "CoherenceModelPlugin", capability: .buildTool(), dependencies: ["coherence-model-tool"],
      path: "Modules/ModelPlugin"),
    .target(
      name: "CoherenceActions",
      dependencies: ["CoherenceCore", "CoherenceReconciliation", "CoherenceStrategies", deques, logging],
      path: "Modules/Actions", swiftSettings: strict),
    .target(
      name: "CoherenceOutbox",
      dependencies: ["CoherenceCore", "CoherenceStrategies", "CoherenceActions", logging], path: "Modules/Outbox",
      swiftSettings: strict),
    .target(
      name: "CoherencePersistedActions",
      dependencies: ["CoherenceCore", "CoherenceStrategies", "CoherenceActions", logging],
      path: "Modules/PersistedActions", swiftSettings: strict),
    .target(
      name: "CoherenceMapping",
      dependencies: ["CoherenceCore", "CoherenceReconciliation", "CoherenceStrategies", logging],
      path: "Modules/Mapping", swiftSettings: strict),
    .target(
      name: "CoherenceHTTP",
      dependencies: ["CoherenceCore", "CoherenceActions", httpTypes, httpTypesFoundation, logging],
      path: "Modules/HTTP", swiftSettings: strict),
    .target(
      name: "CoherenceAsyncHTTP",
      dependencies: ["CoherenceCore", "CoherenceHTTP", httpTypes, httpTypesFoundation] + asyncHTTP,
      path: "Modules/AsyncHTTP", swiftSettings: strict),
    .target(
      name: "CoherenceRefresh", dependencies: ["CoherenceCore", "CoherenceStrategies", "CoherenceActions"],
      path: "Modules/Refresh", swiftSettings: strict),
    .target(
      name: "CoherenceService",
      dependencies: ["CoherenceCore", "CoherenceStrategies", "CoherenceActions", lifecycle, logging],
      path: "Modules/Service", swiftSettings: strict),
    .target(
      name: "CoherenceTelemetry", dependencies: ["CoherenceCore", logging, metrics, tracing], path: "Modules/Telemetry",
      swiftSettings: strict),
    .target(
      name: "Coherence",
      dependencies: [
        "CoherenceCore", "CoherenceStrategies", "CoherenceActions", "CoherenceInMemory", "CoherenceSQLite",
      ],
      path: "Modules/Coherence", swiftSettings: strict),

    // MARK: Backends
    .target(
      name: "CoherenceInMemory", dependencies: ["CoherenceCore", hashTrees], path: "Backends/InMemory",
      swiftSettings: strict),
    .target(
      name: "CoherenceSQL", dependencies: ["CoherenceCore", logging], path: "Backends/SQL", swiftSettings: strict),
    .target(
      name: "CoherenceSQLite", dependencies: ["CoherenceCore", "CoherenceSQL", sqlite, logging],
      path: "Backends/SQLite", swiftSettings: strict),
    .systemLibrary(
      name: "CLibPQ", path: "Backends/CLibPQ", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "CoherencePostgreSQL", dependencies: ["CoherenceCore", "CoherenceSQL", "CLibPQ", logging],
      path: "Backends/PostgreSQL", swiftSettings: strict),

    // MARK: Tests
    .target(
      name: "CoherenceConformance", dependencies: ["CoherenceCore"], path: "Tests/ConformanceKit",
      swiftSettings: strict),
    .target(name: "TestRandom", path: "Tests/Random", swiftSettings: strict),
    .target(
      name: "TestSupport",
      dependencies: ["CoherenceCore", "CoherenceInMemory", "CoherencePostgreSQL", "CoherenceSQLite", logging],
      path: "Tests/Support", swiftSettings: strict),
    .target(
      name: "TestActionSupport", dependencies: ["CoherenceActions"], path: "Tests/ActionSupport",
      swiftSettings: strict),
    .testTarget(
      name: "CoreTests", dependencies: ["CoherenceCore", "CoherenceInMemory", "TestRandom"], path: "Tests/Core",
      swiftSettings: strict),
    .testTarget(
      name: "InMemoryTests", dependencies: ["CoherenceCore", "CoherenceInMemory", "CoherenceConformance"],
      path: "Tests/InMemory",
      swiftSettings: strict),
    .testTarget(
      name: "SQLiteTests",
      dependencies: [
        "CoherenceCore", "CoherenceSQL", "CoherenceSQLite", "CoherenceInMemory", "CoherenceConformance", "TestRandom",
        "TestSupport", grdb,
      ],
      path: "Tests/SQLite", swiftSettings: strict),
    .testTarget(
      name: "PostgreSQLTests",
      dependencies: [
        "CoherenceCore", "CoherenceSQL", "CoherencePostgreSQL", "CoherenceConformance", "TestRandom", "TestSupport",
      ],
      path: "Tests/PostgreSQL", swiftSettings: strict),
    .testTarget(
      name: "SQLTests", dependencies: ["CoherenceCore", "TestRandom", "TestSupport"], path: "Tests/SQL",
      swiftSettings: strict),
    .testTarget(
      name: "StrategiesTests",
      dependencies: [
        "CoherenceCore", "CoherenceStrategies", "CoherenceInMemory", "CoherenceSQLite", "CoherencePostgreSQL",
        "TestSupport",
        logging,
      ],
      path: "Tests/Strategies", swiftSettings: strict),
    .testTarget(
      name: "LiveResultsTests", dependencies: ["CoherenceCore", "CoherenceStrategies", "TestRandom", "TestSupport"],
      path: "Tests/LiveResults", swiftSettings: strict),
    .testTarget(
      name: "UndoTests", dependencies: ["CoherenceCore", "CoherenceStrategies", "TestRandom", "TestSupport"],
      path: "Tests/Undo",
      swiftSettings: strict),
    .testTarget(
      name: "ReconciliationTests",
      dependencies: ["CoherenceReconciliation", "CoherenceCore", "CoherenceInMemory", "TestRandom"],
      path: "Tests/Reconciliation", swiftSettings: strict),
    .testTarget(
      name: "IdentityMapTests", dependencies: ["CoherenceIdentityMap", openCombine, "TestRandom"],
      path: "Tests/IdentityMap",
      swiftSettings: strict),
    .testTarget(
      name: "MacrosTests",
      dependencies: [
        "CoherenceMacros", "CoherenceMacrosPlugin", syntax("SwiftSyntax"), syntax("SwiftSyntaxBuilder"),
        syntax("SwiftSyntaxMacroExpansion"), syntax("SwiftSyntaxMacros"), syntax("SwiftSyntaxMacrosGenericTestSupport"),
      ],
      path: "Tests/Macros", swiftSettings: strict),
    .testTarget(
      name: "OutboxTests",
      dependencies: [
        "CoherenceCore", "CoherenceOutbox", "CoherenceActions", "CoherenceStrategies", "CoherenceInMemory",
        "CoherencePostgreSQL", "CoherenceSQLite", "TestActionSupport", "TestRandom", "TestSupport", logging,
      ],
      path: "Tests/Outbox", swiftSettings: strict),
    .testTarget(
      name: "ModelCodeTests", dependencies: ["CoherenceModelCode", "CoherenceModelFiles", "CoherenceCore"],
      path: "Tests/ModelCode", swiftSettings: strict),
    .testTarget(
      name: "ModelFilesTests",
      dependencies: ["CoherenceModelFiles", "CoherenceCore", "CoherenceStrategies"],
      path: "Tests/ModelFiles", resources: [.copy("Resources/ShelfModel.xcdatamodeld")], swiftSettings: strict),
    .testTarget(
      name: "ModelFormsTests", dependencies: ["CoherenceModelFiles", "CoherenceModelMacros", "CoherenceCore"],
      path: "Tests/ModelForms", resources: [.copy("Resources/FormsModel.xcdatamodeld")], swiftSettings: strict),
    .testTarget(
      name: "ModelMacrosTests",
      dependencies: [
        "CoherenceCore", "CoherenceModelMacros", "CoherenceModelMacrosPlugin", "CoherenceInMemory",
        "CoherenceStrategies", "TestSupport",
        syntax("SwiftDiagnostics"), syntax("SwiftParser"), syntax("SwiftSyntax"), syntax("SwiftSyntaxBuilder"),
        syntax("SwiftSyntaxMacroExpansion"), syntax("SwiftSyntaxMacros"),
      ],
      path: "Tests/ModelMacros", swiftSettings: strict),
    .testTarget(
      name: "ActionsTests",
      dependencies: [
        "CoherenceCore", "CoherenceStrategies", "CoherenceActions", "CoherenceMapping", "CoherenceInMemory",
        "CoherencePostgreSQL", "CoherenceSQLite",
        "TestRandom", "TestSupport", logging,
      ],
      path: "Tests/Actions", swiftSettings: strict),
    .testTarget(
      name: "PersistedActionsTests",
      dependencies: [
        "CoherencePersistedActions", "CoherenceActions", "CoherenceStrategies", "CoherenceCore", "CoherenceInMemory",
        "CoherencePostgreSQL", "CoherenceSQLite", "TestSupport", logging,
      ],
      path: "Tests/PersistedActions", swiftSettings: strict),
    .testTarget(
      name: "HTTPTests",
      dependencies: [
        "CoherenceHTTP", "CoherenceAsyncHTTP", "CoherenceCore", "CoherenceStrategies", "CoherenceActions",
        "CoherenceInMemory", "CoherenceOutbox", "TestSupport", httpTypes,
      ] + asyncHTTP,
      path: "Tests/HTTP", swiftSettings: strict),
    .testTarget(
      name: "MappingTests",
      dependencies: [
        "CoherenceMapping", "CoherenceActions", "CoherenceStrategies", "CoherenceCore", "CoherenceInMemory",
        "CoherencePostgreSQL", "CoherenceSQLite", "TestSupport", logging,
      ],
      path: "Tests/Mapping", swiftSettings: strict),
    .testTarget(
      name: "RefreshTests",
      dependencies: [
        "CoherenceRefresh", "CoherenceActions", "CoherenceStrategies", "CoherenceCore", "CoherenceInMemory",
        "CoherencePostgreSQL", "CoherenceSQLite", "TestActionSupport", "TestRandom", "TestSupport", logging,
      ],
      path: "Tests/Refresh", swiftSettings: strict),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "CoherenceCore",
        // The face is a dependency so that the build of the tests has every module that the documentation describes.
        "Coherence", "CoherenceService", "CoherenceActions", "CoherenceStrategies", "CoherenceInMemory", lifecycle,
        lifecycleTestKit, logging,
      ],
      path: "Tests/Service", swiftSettings: strict),
    .testTarget(
      name: "TelemetryTests",
      dependencies: [
        "CoherenceTelemetry", "CoherenceCore", "CoherenceStrategies", "CoherenceActions", "CoherenceInMemory",
        "CoherenceOutbox", "CoherencePersistedActions", "CoherenceRefresh", inMemoryTracing, logging, metrics,
        metricsTestKit, tracing,
      ],
      path: "Tests/Telemetry", swiftSettings: strict),
    .testTarget(
      name: "DifferentialTests",
      dependencies: [
        "CoherenceCore", "CoherenceSQL", "CoherenceConformance", "CoherenceInMemory", "CoherenceSQLite",
        "CoherencePostgreSQL",
      ],
      path: "Tests/Differential", swiftSettings: strict),
    .target(name: "ThreadSanitizerSupport", path: "Tests/ThreadSanitizer"),
    .testTarget(
      name: "HouseTests", dependencies: ["ThreadSanitizerSupport"], path: "Tests/House", swiftSettings: strict),
    .target(name: "PreparedProcess", path: "Tests/PreparedProcess"),
    .testTarget(
      name: "FaultTests",
      dependencies: [
        "CoherenceActions", "CoherenceCore", "CoherenceConformance", "CoherenceMapping", "CoherenceOutbox",
        "CoherencePersistedActions", "CoherenceSQL", "CoherenceSQLite", "CoherencePostgreSQL", "CoherenceStrategies",
        "PreparedProcess", "TestSupport", "ThreadSanitizerSupport", sqlite, logging,
      ],
      path: "Tests/Faults", swiftSettings: strict),
  ]
)
